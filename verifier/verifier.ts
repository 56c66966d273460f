import type { ClusterClient } from '../mongo/cluster-client.ts';
import { runCommand } from '../mongo/run-command.ts';
import { codeOf, connectionError, isTransient, serverCode } from '../mongo/server-errors.ts';
import { messageOf, SyncError, toSyncError } from '../service/errors.ts';
import { MongoServerError } from 'mongodb';
import type { Logger } from '../service/logger.ts';
import type { VerifierMonitor } from './monitor.ts';
import { retrying } from '../mongo/retrying.ts';
import { VerificationState } from './verification-state.ts';
import { verify } from './verify.ts';

/** What the verifier works with. */
export interface VerifierContext {
  readonly source: ClusterClient;
  readonly destination: ClusterClient;
  readonly verifyAll: boolean;
  readonly workers: number;
  readonly monitor: VerifierMonitor;
  readonly logger: Logger;
  /** Aborted when the program is to end. */
  readonly signal: AbortSignal;
}

/** The verifier behind its API: takes the commands and holds the state of the verification. */
export class Verifier {
  readonly #context: VerifierContext;
  readonly #connecting: Promise<void>;
  readonly #writesOff = Promise.withResolvers<undefined>();
  #isWritesOff = false;
  #isConnected = false;
  #connectionError: SyncError | undefined;
  #state: VerificationState;
  #running: Promise<void> | undefined;

  constructor(context: VerifierContext) {
    this.#context = context;
    this.#state = new VerificationState(context.monitor);
    this.#connecting = this.#connect();
  }

  /** True once both sides have been reached, or it is known why they cannot be. */
  get isReady(): boolean {
    return this.#isConnected || this.#connectionError !== undefined;
  }

  /**
   * How far the verification is.
   * @throws SyncError AuthenticationFailed (and others that do not pass) when a side cannot be used.
   */
  get state(): VerificationState {
    if (this.#connectionError) throw this.#connectionError;
    return this.#state;
  }

  /** Begins the verification. Does nothing while it runs and when it is complete; one that failed begins anew. */
  check(): void {
    if (this.#connectionError) throw this.#connectionError;
    const hasFailed = this.#state.error !== null;
    if (this.#running && !hasFailed) return;
    if (hasFailed) this.#state = new VerificationState(this.#context.monitor);
    this.#state.phase = 'check';
    const before = this.#running;
    this.#running = this.#run(this.#state, before);
  }

  /** Notes that writes have stopped. @returns false when that was known. */
  setWritesOff(): boolean {
    if (this.#isWritesOff) return false;
    this.#isWritesOff = true;
    this.#writesOff.resolve(undefined);
    this.#context.logger.info('writes are off');
    return true;
  }

  /** Resolves when nothing is under way any more, after the signal was aborted. */
  async ended(): Promise<void> {
    await this.#connecting;
    await this.#running;
  }

  async #connect(): Promise<void> {
    const { source, destination, signal, logger } = this.#context;
    try {
      const connect = async (): Promise<void> => {
        await runCommand(source.admin, { hello: 1 }, { signal });
        await runCommand(destination.admin, { hello: 1 }, { signal });
      };
      await retrying(this.#context, 'connect', connect, (error) => {
        const isRefusedLogin = error instanceof SyncError && error.name === 'AuthenticationFailed';
        return !isRefusedLogin && isTransient(error);
      });
      this.#isConnected = true;
      logger.info('both sides can be reached');
    } catch (error) {
      if (signal.aborted) return;
      this.#connectionError = namedError(error);
      logger.error({ err: error }, 'a side cannot be used');
    }
  }

  async #run(state: VerificationState, before: Promise<void> | undefined): Promise<void> {
    const { logger, signal } = this.#context;
    await before;
    try {
      await verify({ ...this.#context, state, writesOff: this.#writesOff.promise });
      const verdict = state.finish();
      logger.info({ verdict, mismatches: state.mismatches }, 'the verification is complete');
    } catch (error) {
      if (signal.aborted) return;
      state.error = namedError(error);
      logger.error({ err: error }, 'the verification cannot go on');
    }
  }
}

/** An error under a name that tells a person what to do. */
function namedError(error: unknown): SyncError {
  const ofConnection = connectionError(error);
  if (ofConnection) return ofConnection;
  if (!(error instanceof MongoServerError)) return toSyncError(error);
  const name = codeOf(error) === serverCode.unauthorized ? 'MissingPrivileges' : 'CheckFailed';
  return new SyncError(name, messageOf(error), { cause: error });
}
