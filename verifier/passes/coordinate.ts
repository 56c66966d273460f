import type { ClusterClient } from '../../mongo/cluster-client.ts';
import { retrying, type RetryContext } from '../../mongo/retrying.ts';
import type { Sides } from '../../mongo/sides.ts';
import type { VerifierMonitor } from '../monitor.ts';
import type { PassKind, ScopeRecord, VerificationRecord } from '../store/records.ts';
import type { Stores } from '../store/stores.ts';
import { begin, endTimes, Following, type Begun } from './following.ts';
import { CoordinatorLease, type CoordinatorLeaseContext } from './coordinator-lease.ts';
import { PassRunner, type NextPass, type PassContext } from './pass-runner.ts';
import { requireSameScope, scopeOf, type ScopeOptions } from './scope.ts';
import { decide } from './verdict.ts';

/** Bounds of the pause between two passes, which is as long as the last pass. */
const minPauseMs = 1000;
const maxPauseMs = 30_000;

/** What a coordinator needs. */
export interface CoordinatorContext
  extends RetryContext, CoordinatorLeaseContext, Sides<ClusterClient> {
  readonly scope: ScopeOptions;
  readonly stores: Stores;
  readonly monitor: VerifierMonitor;
  readonly signal: AbortSignal;
}

/**
 * Coordinates a verification: follows the changes of both sides, plans the passes and gives the verdict. The first pass compares
 * everything, later ones what has changed or differed; after writesOff a last one decides. Changes are followed from before
 * the first pass, and every read sees at least what has been followed, so that no change falls between two passes.
 * What is recorded after each step is enough for another process to continue.
 * @throws CoordinatorLeaseLost if another process has taken over.
 */
export async function coordinate(
  context: CoordinatorContext,
  record: VerificationRecord,
  epoch: number,
): Promise<void> {
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
    const lease = new CoordinatorLease(inner, record, epoch);
    inBackground(lease.keep());
    await new Coordinator(inner, lease, await begunOn(inner, lease)).run(inBackground);
  } catch (error) {
    context.signal.throwIfAborted();
    throw failure.signal.aborted ? failure.signal.reason : error;
  } finally {
    failure.abort(new Error('the coordinator has ended'));
    await Promise.all(background);
  }
}

/** What the verification is about and where it begins: read from the record, or recorded now. */
async function begunOn(context: CoordinatorContext, lease: CoordinatorLease): Promise<Begun> {
  const { scope, starts } = lease.record;
  if (scope && starts) {
    await requireRecordedScope(context, scope);
    return { scope, starts };
  }
  const begun = await begin(context);
  await lease.update(begun);
  return begun;
}

/** @throws SyncError CheckFailed if the destination has another sync by now than the one that was verified. */
async function requireRecordedScope(
  context: CoordinatorContext,
  stored: ScopeRecord,
): Promise<void> {
  const { scope, destination, signal } = context;
  await retrying(context, 'scope', async () => {
    await requireSameScope(stored, scope, destination, signal);
  });
}

class Coordinator {
  readonly #context: CoordinatorContext;
  readonly #lease: CoordinatorLease;
  readonly #begun: Begun;
  readonly #passContext: PassContext;
  readonly #passes: PassRunner;
  #following: Following | undefined;

  constructor(context: CoordinatorContext, lease: CoordinatorLease, begun: Begun) {
    const { source, destination, stores, signal, logger, monitor } = context;
    const { selects } = scopeOf(begun.scope, destination, signal);
    const catalog = { source, destination, selects, signal };
    this.#context = context;
    this.#lease = lease;
    this.#begun = begun;
    this.#passContext = { stores, catalog, signal, logger, monitor };
    this.#passes = new PassRunner(this.#passContext, lease, begun.starts);
  }

  /** Continues from the recorded state to the verdict. @param inBackground - receives work whose failure ends the coordination. */
  async run(inBackground: (work: Promise<unknown>) => void): Promise<void> {
    const lease = this.#lease;
    if (lease.record.generation === null && lease.isWritesOff) {
      // Nothing changes now: one pass is both the first and the last.
      const readAfter = await endTimes(this.#context, this.#begun);
      await this.#plan('last', { isOfAll: true, readAfter });
    }
    if (lease.record.generation?.kind !== 'last') {
      const following = new Following(this.#context, lease, this.#begun);
      this.#following = following;
      await following.during(async () => {
        await this.#followUp(following);
      }, inBackground);
    }
    for (;;) {
      const counts = await this.#passes.ended();
      await requireRecordedScope(this.#context, this.#begun.scope);
      const again = await decide(this.#passContext, lease, this.#begun, counts);
      if (!again) return;
      await this.#plan('last', again);
    }
  }

  /** Makes passes as long as something may change, and plans the last one. */
  async #followUp(following: Following): Promise<void> {
    let pauseMs = minPauseMs;
    const timed = async (pass: () => Promise<void>): Promise<void> => {
      const startedAtMs = performance.now();
      await pass();
      const tookMs = performance.now() - startedAtMs;
      pauseMs = Math.min(maxPauseMs, Math.max(minPauseMs, tookMs));
    };
    await timed(async () => {
      if (this.#lease.record.generation === null) await this.#plan('first');
      await this.#passes.ended();
    });
    while (await this.#hasMoreToFollow(following, pauseMs)) {
      await timed(async () => {
        await this.#plan('recheck');
        await this.#passes.ended();
      });
    }
    await this.#plan('last');
  }

  /** Waits for something to compare again, and for the pause. @returns false after writesOff. */
  async #hasMoreToFollow(following: Following, pauseMs: number): Promise<boolean> {
    const { rechecks } = this.#context.stores;
    const { run } = this.#lease;
    await this.#lease.until(async () => following.isAtEnd || (await rechecks.isWaiting(run)));
    const untilMs = performance.now() + pauseMs;
    await this.#lease.until(() => following.isAtEnd || performance.now() >= untilMs);
    return !following.isAtEnd;
  }

  async #plan(kind: PassKind, more: Omit<NextPass, 'kind' | 'followed'> = {}): Promise<void> {
    const followed = (await this.#following?.close()) ?? this.#lease.record.positions;
    await this.#passes.plan({ kind, followed, ...more });
  }
}
