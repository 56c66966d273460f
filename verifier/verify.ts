import type { VerifierMonitor } from './monitor.ts';
import type { Timestamp } from 'mongodb';
import type { ClusterClient } from '../mongo/cluster-client.ts';
import { latestWriteTime, majorityTime } from '../mongo/cluster-time.ts';
import { isSharded, timeOfAllShards } from '../mongo/router-time.ts';
import { sleep } from '../service/sleep.ts';
import { orAborted } from '../service/or-aborted.ts';
import type { Side } from './compare/compare-context.ts';
import { ChangeFollower } from './changes/change-follower.ts';
import { readNamespacePairs } from './generation/namespace-pairs.ts';
import { databasesOf, planTasks, type GenerationKind } from './generation/plan-tasks.ts';
import { runGeneration } from './generation/run-generation.ts';
import { PendingChecks } from './pending-checks.ts';
import { retrying, type RetryContext } from '../mongo/retrying.ts';
import { readScope, type Scope } from './scope.ts';
import type { VerificationState } from './verification-state.ts';
import { Wakeup } from './wakeup.ts';

/** Bounds of the pause between two passes, which is as long as the last pass took. */
const minPauseMs = 1000;
const maxPauseMs = 30_000;

/** What a verification works with. */
export interface VerifyContext extends RetryContext {
  readonly monitor: VerifierMonitor;
  readonly source: ClusterClient;
  readonly destination: ClusterClient;
  readonly verifyAll: boolean;
  readonly workers: number;
  readonly state: VerificationState;
  /** Resolves when writes to both sides have stopped. */
  readonly writesOff: Promise<void>;
}

/**
 * Carries out a verification. The first pass compares everything, those that follow what has changed or differed, as the
 * change streams of both sides tell; after writesOff a last one decides. Changes are followed from before the first
 * pass, and every read sees at least what has been followed, so that no change falls between two passes.
 */
export async function verify(context: VerifyContext): Promise<void> {
  const failure = new AbortController();
  const signal = AbortSignal.any([context.signal, failure.signal]);
  const inner = { ...context, signal };
  const background: Promise<void>[] = [];
  const inBackground = (work: Promise<unknown>): void => {
    background.push(
      work.then(
        () => undefined,
        (error: unknown) => {
          failure.abort(error);
        },
      ),
    );
  };
  try {
    const passes = await prepare(inner);
    inBackground(passes.source.run());
    inBackground(passes.destination.run());
    inBackground(passes.awaitEnd());
    await passes.run();
  } catch (error) {
    context.signal.throwIfAborted();
    throw failure.signal.aborted ? failure.signal.reason : error;
  } finally {
    failure.abort(new Error('the verification has ended'));
    await Promise.all(background);
  }
}

async function prepare(context: VerifyContext): Promise<Passes> {
  const { source, destination, verifyAll, signal } = context;
  return await retrying(context, 'start', async () => {
    const scope = await readScope(verifyAll, destination, signal);
    return new Passes(context, scope, {
      source: await startOf(source, signal),
      destination: await startOf(destination, signal),
    });
  });
}

/** Where the verification of one side begins. */
interface Start {
  readonly isSharded: boolean;
  /** Changes after this cluster time are followed. */
  readonly from: Timestamp;
}

type Starts = Readonly<Record<'source' | 'destination', Start>>;

async function startOf(cluster: ClusterClient, signal: AbortSignal): Promise<Start> {
  return (await isSharded(cluster, signal))
    ? { isSharded: true, from: await timeOfAllShards(cluster, signal) }
    : { isSharded: false, from: await majorityTime(cluster, signal) };
}

/** The passes over the data of one verification. */
class Passes {
  readonly source: ChangeFollower;
  readonly destination: ChangeFollower;
  readonly #context: VerifyContext;
  readonly #scope: Scope;
  readonly #starts: Starts;
  readonly #wakeup = new Wakeup();
  readonly #pending = new PendingChecks(() => {
    this.#wakeup.wake();
  });
  readonly #ended = Promise.withResolvers<undefined>();
  #isAtEnd = false;

  constructor(context: VerifyContext, scope: Scope, starts: Starts) {
    this.#context = context;
    this.#scope = scope;
    this.#starts = starts;
    const { selects } = scope;
    const common = { ...context, selects, pending: this.#pending };
    this.source = new ChangeFollower({
      ...common,
      side: 'source',
      cluster: context.source,
      ...starts.source,
    });
    this.destination = new ChangeFollower({
      ...common,
      side: 'destination',
      cluster: context.destination,
      ...starts.destination,
    });
    context.state.pendingCount = () => this.#pending.count;
  }

  async run(): Promise<void> {
    let pauseMs = await this.#pass('first');
    while (await this.#hasMoreToFollow(pauseMs)) pauseMs = await this.#pass('recheck');
    await this.#pass('last');
  }

  /** Waits until something is to be compared again, and for the pause. @returns false after writesOff. */
  async #hasMoreToFollow(pauseMs: number): Promise<boolean> {
    const { signal } = this.#context;
    while (this.#pending.isEmpty && !this.#isAtEnd) await this.#wakeup.next(signal);
    if (!this.#isAtEnd) await Promise.race([sleep(pauseMs, signal), this.#ended.promise]);
    return !this.#isAtEnd;
  }

  /** After writesOff: waits until every change that was made before it has been followed on both sides. */
  async awaitEnd(): Promise<void> {
    const { source, destination, writesOff, signal } = this.#context;
    await orAborted(writesOff, signal);
    const [sourceTime, destinationTime] = await Promise.all([
      endTime(this.#context, source, this.#starts.source),
      endTime(this.#context, destination, this.#starts.destination),
    ]);
    await Promise.all([this.source.passed(sourceTime), this.destination.passed(destinationTime)]);
    this.#isAtEnd = true;
    this.#ended.resolve(undefined);
    this.#wakeup.wake();
  }

  /** A side as it is read now: with all that has been followed. */
  #side(name: 'source' | 'destination'): Side {
    const { isSharded } = this.#starts[name];
    return { cluster: this.#context[name], isSharded, readAfter: this[name].position };
  }

  /** @returns how long to pause before the next pass. */
  async #pass(kind: GenerationKind): Promise<number> {
    const { source, destination, state, workers, logger, signal, monitor } = this.#context;
    const startedAtMs = performance.now();
    // Taken together: the reads of this pass see every change that is in what it takes.
    const pending = this.#pending.take();
    const sides = { source: this.#side('source'), destination: this.#side('destination') };
    state.begin(kind);
    const pairs = await retrying(this.#context, 'catalog', async () => {
      const { selects } = this.#scope;
      const context = { source, destination, selects, signal };
      return await readNamespacePairs(context, databasesOf(kind, pending));
    });
    const tasks = [...planTasks(kind, pending, pairs)];
    const { generation, status } = state;
    logger.info({ generation, kind, tasks: tasks.length }, 'pass begins');
    await runGeneration(
      {
        ...sides,
        kind,
        workers,
        mayLackIndexes: this.#scope.mayLackIndexes,
        status,
        report: (namespace, difference) => {
          state.report(namespace, difference);
        },
        next: this.#pending,
        signal,
        logger,
        monitor,
      },
      tasks,
    );
    const tookMs = Math.round(performance.now() - startedAtMs);
    logger.info(
      { generation, kind, tookMs, mismatches: state.mismatchCount, ...status },
      'pass ended',
    );
    return Math.min(maxPauseMs, Math.max(minPauseMs, tookMs));
  }
}

/** A cluster time that no write acknowledged before the call is later than. Needs no right to write. */
async function endTime(
  context: VerifyContext,
  cluster: ClusterClient,
  start: Start,
): Promise<Timestamp> {
  const { signal } = context;
  return await retrying(context, 'end', async () => {
    return start.isSharded
      ? await timeOfAllShards(cluster, signal)
      : await latestWriteTime(cluster, signal);
  });
}
