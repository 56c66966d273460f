import type { ClusterClient } from '../mongo/cluster-client.ts';
import { namedError } from '../mongo/named-error.ts';
import type { RetryContext } from '../mongo/retrying.ts';
import { SyncError } from '../service/errors.ts';
import { withHeapGrowth } from '../service/heap-growth.ts';
import { sleep } from '../service/sleep.ts';
import { CatalogCache } from './compare/namespace-pairs.ts';
import type { Sides } from '../mongo/sides.ts';
import { sidesOf } from './compare/sides.ts';
import type { VerifierMonitor } from './monitor.ts';
import { ChangesLost } from './passes/change-follower.ts';
import type { Begun } from './passes/following.ts';
import { coordinate } from './passes/coordinate.ts';
import { NotProven } from './passes/prove.ts';
import { scopeOf, type ScopeOptions } from './passes/scope.ts';
import type { ProcessIdentity } from './store/metadata-store.ts';
import { planKey, type PassRecord, type VerificationRecord } from './store/records.ts';
import type { Stores } from './store/stores.ts';
import { CoordinatorLeaseLost } from './store/verification-store.ts';
import { runTasks, type WorkerContext, type WorkSettings } from './tasks/worker.ts';
import type { Wakeup } from './wakeup.ts';

/** How often a process writes its heartbeat and checks what others have done. */
const heartbeatMs = 3_000;
const pollMs = 500;

/** How much garbage may accumulate before it is collected, in percent of the live data: decision 32. */
const growthPercent = 200;

/** What a process of a verification needs. */
export interface ParticipantContext extends RetryContext, Sides<ClusterClient> {
  readonly scope: ScopeOptions;
  readonly work: WorkSettings;
  readonly stores: Stores;
  readonly identity: ProcessIdentity;
  readonly monitor: VerifierMonitor;
  readonly wakeup: Wakeup;
}

/** Ends the work of a participant, which is over. */
class Ended extends Error {}

/**
 * Participates in a running verification: carries out tasks, and coordinates it if no other process does. Resolves once the
 * verification is complete, was started over, or cannot continue, which is recorded then.
 * @throws SyncError SupersededByOtherInstance
 */
export async function participate(
  context: ParticipantContext,
  record: VerificationRecord,
): Promise<void> {
  const stop = new AbortController();
  const signal = AbortSignal.any([context.signal, stop.signal]);
  const participant = new Participant({ ...context, signal }, record);
  const works = [
    participant.heartbeat(),
    participant.watch(),
    participant.coordinate(),
    participant.work(),
  ].map(async (work) => {
    try {
      await work;
    } catch (error) {
      stop.abort(error);
    }
  });
  await Promise.all(works);
  context.signal.throwIfAborted();
  const { reason } = stop.signal as { reason: unknown };
  if (reason instanceof Ended) return;
  if (reason instanceof SyncError && reason.name === 'SupersededByOtherInstance') throw reason;
  const error = namedError(reason, 'CheckFailed');
  context.logger.error({ err: reason }, 'the verification cannot continue');
  const { name, message } = error;
  const isFinal = reason instanceof ChangesLost || reason instanceof NotProven;
  await context.stores.verifications.fail(record.run, { name, message, isFinal });
}

class Participant {
  readonly #context: ParticipantContext;
  readonly #run: string;
  #latest: VerificationRecord;

  constructor(context: ParticipantContext, record: VerificationRecord) {
    this.#context = context;
    this.#run = record.run;
    this.#latest = record;
  }

  async heartbeat(): Promise<never> {
    const { signal, stores, identity, monitor } = this.#context;
    for (;;) {
      if (!(await stores.processes.heartbeat(monitor.retryWarnings.warnings()))) {
        throw new SyncError(
          'SupersededByOtherInstance',
          `another process works on this verification as --id ${identity.id}`,
        );
      }
      await sleep(heartbeatMs, signal);
    }
  }

  async watch(): Promise<never> {
    const { signal, wakeup } = this.#context;
    for (;;) {
      const { count } = wakeup;
      await this.#read();
      await wakeup.since(count, pollMs, signal);
    }
  }

  async coordinate(): Promise<never> {
    const { signal, logger, monitor, source, destination } = this.#context;
    const { scope, stores, wakeup, identity } = this.#context;
    const { incarnation } = identity;
    for (;;) {
      const epoch = await stores.verifications.takeLease(this.#run);
      if (epoch === undefined) {
        await sleep(pollMs, signal);
        continue;
      }
      logger.info({ epoch }, 'is coordinating the verification');
      try {
        const record = await this.#read();
        const latest = (): VerificationRecord => this.#latest;
        await coordinate(
          {
            signal,
            logger,
            monitor,
            source,
            destination,
            scope,
            stores,
            incarnation,
            wakeup,
            latest,
          },
          record,
          epoch,
        );
        await this.#read();
      } catch (error) {
        if (!(error instanceof CoordinatorLeaseLost)) throw error;
        logger.warn('another process is coordinating the verification');
      }
    }
  }

  async work(): Promise<never> {
    const { signal, wakeup, monitor } = this.#context;
    for (;;) {
      const { count } = wakeup;
      const { generation: pass, scope, starts } = await this.#read();
      if (pass && scope && starts) {
        monitor.pass = pass.number;
        const work = this.#workOn(pass, { scope, starts });
        await withHeapGrowth(growthPercent, async () => {
          await runTasks(work);
        });
      }
      await wakeup.since(count, pollMs, signal);
    }
  }

  #workOn(pass: PassRecord, { scope, starts }: Begun): WorkerContext {
    const { signal, logger, monitor, source, destination } = this.#context;
    const { stores, identity, wakeup, work } = this.#context;
    const { workers, ...settings } = work;
    const { selects } = scopeOf(scope, destination, signal);
    return {
      stores,
      plan: planKey(this.#run, pass),
      kind: pass.kind,
      owner: identity.incarnation,
      workers,
      task: {
        signal,
        logger,
        monitor,
        ...settings,
        ...sidesOf({ source, destination }, starts, pass.readAfter),
        kind: pass.kind,
        mayLackIndexes: scope.mayLackIndexes,
        catalog: new CatalogCache({ source, destination, selects, signal }),
      },
      onDone: () => {
        wakeup.wake();
      },
    };
  }

  /** @throws Ended if this run is over. */
  async #read(): Promise<VerificationRecord> {
    const record = await this.#context.stores.verifications.read();
    if (record?.run !== this.#run || record.status !== 'running' || record.error) {
      throw new Ended('the verification has ended');
    }
    this.#latest = record;
    return record;
  }
}
