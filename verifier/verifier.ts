import { UUID } from 'mongodb';
import { connectCluster, type ClusterClient } from '../mongo/cluster-client.ts';
import { namedError } from '../mongo/named-error.ts';
import { verifierDatabase } from '../mongo/namespace.ts';
import { retrying } from '../mongo/retrying.ts';
import { runCommand } from '../mongo/run-command.ts';
import { codeOf, isTransient, serverCode } from '../mongo/server-errors.ts';
import { readDeploymentId } from '../mongo/topology.ts';
import { messageOf, SyncError } from '../service/errors.ts';
import { logOnce } from '../service/log-once.ts';
import { Mutex } from '../service/mutex.ts';
import { orAborted } from '../service/or-aborted.ts';
import { participate, type ParticipantContext } from './participate.ts';
import { readScope, requireSameScope, requireSomethingSelected } from './passes/scope.ts';
import type { MismatchPage } from '../sync-api/json.ts';
import {
  lastingMismatches,
  readLastingSummary,
  type LastingSummary,
} from './store/lasting-mismatches.ts';
import type { LastingMismatch, MismatchSelection } from './store/mismatch-store.ts';
import { planKey, type ScopeRecord } from './store/records.ts';
import {
  namespaceReports,
  readSummary,
  type NamespaceReport,
  type Summary,
} from './store/summary.ts';

/** How long a request may wait for the metadata store. */
const requestMs = 20_000;
/** Less than the timeout of clients that poll: they must receive outdated answers, too. */
const progressMs = 3_000;
const idlePollMs = 1_000;

type RequestKind =
  'check' | 'writesOff' | 'progress' | 'mismatches' | 'namespaces' | 'lastingSummary';

/** What a verifier needs. Its signal is aborted when the program must end. */
export interface VerifierContext extends ParticipantContext {
  readonly metadata: ClusterClient;
  /** Deletes the record before anything else. */
  readonly clean: boolean;
}

/** One process of a verification, behind its API. All its knowledge of the verification is in the metadata store. */
export class Verifier {
  readonly #context: VerifierContext;
  readonly #running: Promise<void>;
  readonly #connected = Promise.withResolvers<undefined>();
  #isConnected = false;
  /** Why it is not connected yet; undefined before the first attempt has failed. */
  #connectError: SyncError | undefined;
  /** Why this process cannot work at all. */
  #error: SyncError | undefined;
  #summary: Summary | undefined;
  /** The store may still be working on an abandoned request: no other of the same kind is sent before it has answered. */
  readonly #oneByOne: Readonly<Record<RequestKind, Mutex>> = {
    check: new Mutex(),
    writesOff: new Mutex(),
    progress: new Mutex(),
    mismatches: new Mutex(),
    namespaces: new Mutex(),
    lastingSummary: new Mutex(),
  };

  constructor(context: VerifierContext) {
    this.#context = context;
    this.#running = this.#run();
  }

  /** True once both sides and the metadata store have been reached, or the reason why they cannot be is known. */
  get isReady(): boolean {
    return this.#isConnected || this.#error !== undefined;
  }

  /**
   * Starts the verification. Does nothing while it runs and when it is complete. A failed one continues, or starts
   * over if what is on record proves nothing any longer.
   * @throws SyncError NothingToCompare; CheckFailed if it is complete, and the destination has another sync by now: its verdict
   *   says nothing about that. Nothing has been stored then.
   */
  async check(): Promise<void> {
    await this.#request('check', async (signal) => {
      const { verifications } = this.#context.stores;
      const record = await verifications.read();
      if (!record?.scope) await this.#requireScope(signal);
      else if (record.status === 'complete') await this.#requireSameScope(record.scope, signal);
      signal.throwIfAborted();
      await verifications.begin();
    });
    this.#context.wakeup.wake();
  }

  /** Records that writes have stopped. @returns false if that was known. */
  async setWritesOff(): Promise<boolean> {
    const isNew = await this.#request(
      'writesOff',
      async () => await this.#context.stores.verifications.setWritesOff(),
    );
    if (isNew) this.#context.logger.info('writes are off');
    this.#context.wakeup.wake();
    return isNew;
  }

  /**
   * How far the verification has got. While the metadata store is unreachable: its last known state, marked as such.
   * @throws SyncError AuthenticationFailed (and others that do not pass) if a cluster cannot be used.
   */
  async summary(): Promise<Summary> {
    if (this.#error) throw this.#error;
    try {
      const { stores, identity } = this.#context;
      return await this.#request(
        'progress',
        async () => {
          const summary = await readSummary(stores, identity);
          // Even one that comes too late for this call is newer than what was known.
          this.#summary = summary;
          return summary;
        },
        progressMs,
      );
    } catch (error) {
      if (!this.#summary) throw error;
      const { logger } = this.#context;
      if (this.#summary.isLatest)
        logger.warn({ reason: messageOf(error) }, 'progress is not the latest');
      this.#summary = { ...this.#summary, isLatest: false };
      return this.#summary;
    }
  }

  /** What this process retries, or waits for, at the moment. */
  get retryWarnings(): readonly string[] {
    return this.#context.monitor.retryWarnings.warnings();
  }

  /** Differences found by the current pass, or the last one. @param after - `next` of the page before. */
  async mismatches(limit: number, after: string | undefined): Promise<MismatchPage> {
    return await this.#request('mismatches', async () => {
      const { verifications, mismatches } = this.#context.stores;
      const record = await verifications.read();
      if (!record?.generation) return { mismatches: [], next: null };
      const { run, generation: pass } = record;
      return await mismatches.page(planKey(run, pass), limit, after);
    });
  }

  /**
   * The differences that the last pass to end has found, as `lastingMismatches` of the store. Reading them waits for nobody else.
   * @param gone - aborted once nobody wants them.
   */
  async *lastingMismatches(
    selection: MismatchSelection,
    gone: AbortSignal,
  ): AsyncGenerator<LastingMismatch, void> {
    const { stores } = this.#context;
    const signal = AbortSignal.any([this.#context.signal, gone]);
    const record = await this.#request('mismatches', async () => await stores.verifications.read());
    try {
      yield* lastingMismatches(stores, record, selection, signal);
    } catch (error) {
      throw namedError(error, 'CheckFailed');
    }
  }

  /** The same, summed up. */
  async lastingSummary(minDurationMs: number): Promise<LastingSummary> {
    return await this.#request('lastingSummary', async (signal) => {
      const { stores } = this.#context;
      const record = await stores.verifications.read();
      return await readLastingSummary(stores, record, minDurationMs, signal);
    });
  }

  /** What the current pass, or the last one, has compared of each namespace, and what was read and counted there. */
  async namespaces(limit: number, after: string): Promise<readonly NamespaceReport[]> {
    return await this.#request('namespaces', async () => {
      const { stores } = this.#context;
      const record = await stores.verifications.read();
      return record ? await namespaceReports(stores, record, { after, limit }) : [];
    });
  }

  /** Resolves once nothing is under way, after the signal was aborted. */
  async ended(): Promise<void> {
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal, logger } = this.#context;
    try {
      await this.#connect();
      this.#isConnected = true;
      this.#connected.resolve(undefined);
      logger.info('both sides and the metadata store are reachable');
      await this.#work();
    } catch (error) {
      if (!signal.aborted) {
        this.#error = namedError(error, 'CheckFailed');
        logOnce(logger, this.#error, { err: error }, 'this process cannot work');
      }
    } finally {
      this.#connected.resolve(undefined);
    }
  }

  async #connect(): Promise<void> {
    const { source, destination, metadata, signal, stores, clean } = this.#context;
    const connect = async (): Promise<string> => {
      try {
        return await reach();
      } catch (error) {
        this.#connectError = namedError(error, 'CheckFailed');
        throw error;
      }
    };
    const reach = async (): Promise<string> => {
      // The metadata store may be the destination.
      const clusters = new Map([
        [metadata, 'metadata store'],
        [source, 'source'],
        [destination, 'destination'],
      ]);
      for (const [cluster, name] of clusters) await connectNamed(cluster, name, signal);
      await runCommand(metadata.admin, { hello: 1 }, { signal });
      return JSON.stringify({
        source: await readDeploymentId(source, signal),
        destination: await readDeploymentId(destination, signal),
        scope: this.#context.scope,
      });
    };
    const subject = await retrying(this.#context, 'connect', connect, (error) => {
      const isRefusedLogin = error instanceof SyncError && error.name === 'AuthenticationFailed';
      return !isRefusedLogin && isTransient(error);
    });
    try {
      await stores.tasks.createIndexes();
      await stores.rechecks.createIndexes();
      await stores.coverages.createIndexes();
      await stores.mismatches.createIndexes();
      if (clean) await stores.verifications.clean();
      await stores.verifications.openAttempt();
      const recorded = await stores.verifications.claimSubject(subject);
      if (recorded !== subject) throw this.#otherSubject();
      const former = await stores.processes.register();
      if (former !== undefined) await stores.verifications.endLease(former);
      await this.#forgetOtherRuns();
    } catch (error) {
      if (codeOf(error) !== serverCode.unauthorized) throw error;
      throw new SyncError(
        'MissingPrivileges',
        `the user of the metadata store needs the role readWrite on the database ${verifierDatabase} there`,
        { cause: error },
      );
    }
  }

  #otherSubject(): SyncError {
    const { verification } = this.#context.identity;
    return new SyncError(
      'CheckFailed',
      `the metadata store holds a verification ${verification} of other clusters or namespaces; start with --clean to delete it, with a higher --attempt (a SyncVerification: another spec.rerun), or with another --verification`,
    );
  }

  async #forgetOtherRuns(): Promise<void> {
    const { verifications, tasks, rechecks, mismatches, coverages } = this.#context.stores;
    const living = async (): Promise<string[]> => await verifications.runs();
    await tasks.forgetRuns(living);
    await rechecks.forgetRuns(living);
    await mismatches.forgetRuns(living);
    await coverages.forgetRuns(living);
  }

  async #work(): Promise<void> {
    const { signal, stores, wakeup, logger } = this.#context;
    for (;;) {
      const { count } = wakeup;
      const record = await stores.verifications.read();
      if (record?.status === 'running' && !record.error) {
        logger.info({ generation: record.generation?.number ?? null }, 'takes part');
        await participate(this.#context, record);
      }
      await wakeup.since(count, idlePollMs, signal);
    }
  }

  async #requireScope(signal: AbortSignal): Promise<void> {
    const { scope, destination } = this.#context;
    await retrying({ ...this.#context, signal }, 'scope', async () => {
      const record = await readScope(scope, destination, signal);
      await requireSomethingSelected(record, scope, this.#context, signal);
    });
  }

  async #requireSameScope(stored: ScopeRecord, signal: AbortSignal): Promise<void> {
    const { scope, destination } = this.#context;
    await retrying({ ...this.#context, signal }, 'scope', async () => {
      await requireSameScope(stored, scope, destination, signal);
    });
  }

  /** Carries out a request, which requires this process to be connected. A request abandoned before its turn does nothing. */
  async #request<T>(
    kind: RequestKind,
    run: (signal: AbortSignal) => Promise<T>,
    deadlineMs = requestMs,
  ): Promise<T> {
    const deadline = AbortSignal.timeout(deadlineMs);
    const signal = AbortSignal.any([this.#context.signal, deadline]);
    try {
      await orAborted(this.#connected.promise, signal);
      if (this.#error) throw this.#error;
      const running = this.#oneByOne[kind].run(async () => {
        signal.throwIfAborted();
        return await run(signal);
      });
      running.catch(() => undefined);
      return await orAborted(running, signal);
    } catch (error) {
      if (!deadline.aborted) throw namedError(error, 'CheckFailed');
      if (!this.#isConnected && this.#connectError) throw this.#connectError;
      throw new SyncError('ClusterUnreachable', 'the metadata store, or a side, does not answer', {
        cause: error,
      });
    }
  }

  /** Releases what this process holds, so that others need not wait for the end of a lease. */
  async release(): Promise<void> {
    if (!this.#isConnected) return;
    const { verifications, processes } = this.#context.stores;
    try {
      await verifications.releaseLease();
      await processes.unregister();
    } catch (error) {
      this.#context.logger.warn({ reason: messageOf(error) }, 'the coordinator ends on its own');
    }
  }
}

/** The identity of a process: its name, and a name for this start of it. */
export function identityOf(
  verification: string,
  id: string,
  attempt: number,
): ParticipantContext['identity'] {
  return { verification, id, attempt, incarnation: new UUID().toHexString() };
}

/** As {@link connectCluster}; the error says which of the clusters it is about. */
async function connectNamed(
  cluster: ClusterClient,
  name: string,
  signal: AbortSignal,
): Promise<void> {
  try {
    await connectCluster(cluster, signal);
  } catch (error) {
    if (!(error instanceof SyncError)) throw error;
    throw new SyncError(error.name, `the ${name}: ${error.message}`, { cause: error });
  }
}
