import type { Timestamp } from 'mongodb';
import type { ClusterClient } from '../../mongo/cluster-client.ts';
import { namespaceText } from '../../mongo/namespace.ts';
import { retrying, type RetryContext } from '../../mongo/retrying.ts';
import { sleep } from '../../service/sleep.ts';
import { sidesOf, type OfSides, type SideName } from '../compare/sides.ts';
import type { VerifierMonitor } from '../monitor.ts';
import type { Notes } from '../store/recheck-store.ts';
import {
  planKey,
  type GenerationKind,
  type GenerationRecord,
  type Proof,
  type ScopeRecord,
  type VerificationRecord,
} from '../store/records.ts';
import type { Stores } from '../store/stores.ts';
import type { Wakeup } from '../wakeup.ts';
import { begin, endTimes, type Begun } from './begin.ts';
import { ChangeFollower } from './change-follower.ts';
import { ChangeLog } from './change-log.ts';
import { readCoverage } from './coverage.ts';
import { ChangeNotes, expectedNotes } from './notes.ts';
import { planGeneration } from './plan-pass.ts';
import { nothingCompared, notProven, prove, shownReasons } from './prove.ts';
import { requireSameScope, scopeOf, type ScopeOptions } from './scope.ts';

/** Bounds of the pause between two passes, which is as long as the last pass took. */
const minPauseMs = 1000;

const maxPauseMs = 30_000;

/** How often the lead is prolonged, and what other processes have done is looked for. */
const renewMs = 3_000;

const pollMs = 500;

/** What a lead works with. */
export interface LeadContext extends RetryContext {
  readonly source: ClusterClient;
  readonly destination: ClusterClient;
  readonly scope: ScopeOptions;
  readonly stores: Stores;
  readonly monitor: VerifierMonitor;
  /** Of this process. */
  readonly incarnation: string;
  /** Woken by what happens in this process: commands, passes that are worked off, changes that are noted. */
  readonly wakeup: Wakeup;
  /** What is on record, as it was last read. */
  readonly latest: () => VerificationRecord | undefined;
}

/**
 * Leads a verification: follows the changes of both sides, plans the passes and gives the verdict. The first pass compares
 * everything, those that follow what has changed or differed; after writesOff a last one decides. Changes are followed from before
 * the first pass, and every read sees at least what has been followed, so that no change falls between two passes.
 * What is on record after each step is enough for another process to go on.
 * @throws LeadLost where another process has taken over.
 */
export async function lead(
  context: LeadContext,
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
    const leader = new Lead(inner, record, epoch);
    inBackground(leader.renew());
    await leader.run(inBackground);
  } catch (error) {
    context.signal.throwIfAborted();
    throw failure.signal.aborted ? failure.signal.reason : error;
  } finally {
    failure.abort(new Error('the lead has ended'));
    await Promise.all(background);
  }
}

class Lead {
  readonly #context: LeadContext;
  readonly #run: string;
  readonly #epoch: number;
  #record: VerificationRecord;
  #log: ChangeLog | undefined;
  /** True when every change made before writesOff has been noted. */
  #isAtEnd = false;

  constructor(context: LeadContext, record: VerificationRecord, epoch: number) {
    this.#context = context;
    this.#record = record;
    this.#run = record.run;
    this.#epoch = epoch;
  }

  /** Keeps the lead, and gives back what processes have taken that are gone. */
  async renew(): Promise<never> {
    const { signal, stores } = this.#context;
    for (;;) {
      const living = await stores.processes.living();
      const incarnations = living.map(({ incarnation }) => incarnation);
      await stores.tasks.releaseOthers(this.#run, [this.#context.incarnation, ...incarnations]);
      await sleep(renewMs, signal);
      await this.#update({});
    }
  }

  async run(inBackground: (work: Promise<unknown>) => void): Promise<void> {
    const begun = await this.#begin();
    if (this.#record.generation === null && this.#isWritesOff()) {
      // Nothing changes any more: one pass is the first and the last.
      await this.#plan('last', {
        isOfAll: true,
        readAfter: await endTimes(this.#context, begun),
        begun,
      });
    }
    if (this.#record.generation?.kind !== 'last') await this.#followToEnd(begun, inBackground);
    await this.#over();
    while (!(await this.#finish(begun))) await this.#over();
  }

  /** What the verification is about and where it begins: from the record, or on record from now on. */
  async #begin(): Promise<Begun> {
    const { scope, starts } = this.#record;
    if (scope && starts) {
      await this.#requireSameScope(scope);
      return { scope, starts };
    }
    const begun = await begin(this.#context);
    await this.#update(begun);
    return begun;
  }

  /** @throws SyncError CheckFailed where another sync than the one that was verified is on the destination by now. */
  async #requireSameScope(stored: ScopeRecord): Promise<void> {
    const { scope, destination, signal } = this.#context;
    await retrying(this.#context, 'scope', async () => {
      await requireSameScope(stored, scope, destination, signal);
    });
  }

  async #followToEnd(begun: Begun, inBackground: (work: Promise<unknown>) => void): Promise<void> {
    const stop = new AbortController();
    const signal = AbortSignal.any([this.#context.signal, stop.signal]);
    const { wakeup, stores } = this.#context;
    const { positions, generation } = this.#record;
    const notes = new ChangeNotes(this.#epoch, this.#record.noted);
    const log = new ChangeLog(
      {
        add: async (number, rechecks) => {
          await stores.rechecks.add(this.#run, number, [notes.next(number, rechecks)]);
        },
        addTallies: async (number, tallies) => {
          await stores.coverages.addTallies(this.#run, number, tallies);
        },
        setPositions: async (reached) => {
          const noted = notes.after(this.#record.generation?.number ?? -1);
          await this.#update({ positions: reached, noted });
        },
      },
      { generation: (generation?.number ?? -1) + 1, positions },
    );
    this.#log = log;
    const { selects } = scopeOf(begun.scope, this.#context.destination, signal);
    const follower = (side: SideName): ChangeFollower =>
      new ChangeFollower({
        ...this.#context,
        ...begun.starts[side],
        signal,
        selects,
        side,
        cluster: this.#context[side],
        reached: positions[side],
        log,
        onStored: () => {
          wakeup.wake();
        },
      });
    const followers = { source: follower('source'), destination: follower('destination') };
    const untilStopped = async (work: Promise<unknown>): Promise<void> => {
      try {
        await work;
      } catch (error) {
        if (!stop.signal.aborted) throw error;
      }
    };
    const background = [
      untilStopped(followers.source.run()),
      untilStopped(followers.destination.run()),
      untilStopped(this.#awaitEnd(followers, begun, signal)),
    ];
    for (const work of background) inBackground(work);
    try {
      await this.#passes(begun);
    } finally {
      stop.abort(new Error('changes are followed no more'));
      await Promise.allSettled(background);
    }
  }

  async #passes(begun: Begun): Promise<void> {
    let pauseMs = minPauseMs;
    const timed = async (pass: () => Promise<void>): Promise<void> => {
      const startedAtMs = performance.now();
      await pass();
      const tookMs = performance.now() - startedAtMs;
      pauseMs = Math.min(maxPauseMs, Math.max(minPauseMs, tookMs));
    };
    await timed(async () => {
      if (this.#record.generation === null) await this.#plan('first', { begun });
      await this.#over();
    });
    while (await this.#hasMoreToFollow(pauseMs)) {
      await timed(async () => {
        await this.#plan('recheck', { begun });
        await this.#over();
      });
    }
    await this.#plan('last', { begun });
  }

  /** Waits until something is to be compared again, and for the pause. @returns false after writesOff. */
  async #hasMoreToFollow(pauseMs: number): Promise<boolean> {
    const { stores } = this.#context;
    await this.#until(async () => this.#isAtEnd || (await stores.rechecks.isWaiting(this.#run)));
    const untilMs = performance.now() + pauseMs;
    await this.#until(() => this.#isAtEnd || performance.now() >= untilMs);
    return !this.#isAtEnd;
  }

  /** After writesOff: waits until every change that was made before it has been noted on both sides. */
  async #awaitEnd(
    followers: OfSides<ChangeFollower>,
    begun: Begun,
    signal: AbortSignal,
  ): Promise<void> {
    await this.#until(() => this.#isWritesOff(), signal);
    const times = await endTimes(this.#context, begun);
    await Promise.all([
      followers.source.passed(times.source),
      followers.destination.passed(times.destination),
    ]);
    this.#isAtEnd = true;
    this.#context.wakeup.wake();
  }

  async #plan(
    kind: GenerationKind,
    {
      begun,
      isOfAll = false,
      doubted,
      readAfter,
    }: {
      readonly begun: Begun;
      readonly isOfAll?: boolean;
      /** What a last pass has noted that did not prove all: the one that follows it is the last. */
      readonly doubted?: Notes;
      /** Undefined: what has been followed. */
      readonly readAfter?: OfSides<Timestamp>;
    },
  ): Promise<void> {
    const { stores, source, destination, signal, logger, wakeup } = this.#context;
    const { tasks, rechecks, mismatches } = stores;
    const former = this.#record.generation;
    const followed = (await this.#log?.close()) ?? this.#record.positions;
    const times = readAfter ?? {
      source: followed.source?.time ?? begun.starts.source.from,
      destination: followed.destination?.time ?? begun.starts.destination.from,
    };
    const key = { run: this.#run, generation: (former?.number ?? -1) + 1, epoch: this.#epoch };
    const { selects } = scopeOf(begun.scope, destination, signal);
    const notes = await expectedNotes(tasks, this.#record, doubted);
    const count = await planGeneration(
      { ...this.#context, tasks, rechecks, catalog: { source, destination, selects, signal } },
      { kind, isOfAll, key, readAfter: times, notes },
    );
    const { compared } = former
      ? await tasks.counts(planKey(this.#run, former))
      : { compared: { documents: 0, bytes: 0 } };
    const { totals } = this.#record;
    const { generation: number, epoch } = key;
    await this.#update({
      generation: {
        number,
        epoch,
        kind,
        isAgain: doubted !== undefined,
        plannedTasks: count,
        readAfter: times,
        startedAt: new Date(),
        noted: null,
      },
      totals: {
        documents: totals.documents + compared.documents,
        bytes: totals.bytes + compared.bytes,
      },
    });
    logger.info({ generation: number, kind, tasks: count }, 'pass begins');
    wakeup.wake();
    await rechecks.forgetUpTo(this.#run, number);
    await tasks.forgetOthers(key);
    await mismatches.forgetBefore(key);
  }

  /** Waits until all tasks of the current pass have ended, and notes what they have read. */
  async #over(): Promise<void> {
    const { generation } = this.#record;
    if (!generation) return;
    const key = planKey(this.#run, generation);
    const { tasks } = this.#context.stores;
    await this.#until(async () => await tasks.isOver(key));
    const { failed, completed, metadataMismatch } = await tasks.counts(key);
    await this.#recordCoverage(generation);
    const { number, kind, startedAt } = generation;
    const tookMs = Date.now() - startedAt.getTime();
    this.#context.logger.info(
      { generation: number, kind, tookMs, failed, completed, metadataMismatch },
      'pass ended',
    );
  }

  /**
   * Notes, from what is on record, of which collections a pass has read every document.
   * @throws SyncError CheckFailed where the tasks on record are not all that there have to be.
   */
  async #recordCoverage(generation: GenerationRecord): Promise<void> {
    const { coverages } = this.#context.stores;
    const { covered, problems, noted } = await readCoverage(this.#context, this.#run, generation);
    // Another lead may have planned the next pass and forgotten these tasks meanwhile: then they prove nothing.
    await this.#update({ generation: { ...generation, noted: generation.noted ?? noted } });
    await coverages.add(this.#run, covered);
    if (problems.length > 0) throw notProven(`pass ${generation.number} is not complete`, problems);
  }

  /**
   * Gives the verdict, which is that of the last pass: different if any of its tasks found a difference, equal if each namespace is
   * proven to be. What is not is compared again as a whole, once.
   * @returns false where another last pass was planned.
   * @throws SyncError CheckFailed where nothing differs, and something is not proven, or there was nothing to compare.
   */
  async #finish(begun: Begun): Promise<boolean> {
    const { generation } = this.#record;
    if (generation?.kind !== 'last') throw new Error('a verdict without a last pass');
    const { tasks, coverages, rechecks } = this.#context.stores;
    await this.#requireSameScope(begun.scope);
    const key = planKey(this.#run, generation);
    const { failed } = await tasks.counts(key);
    if (failed > 0) {
      await this.#complete('different', null);
      return true;
    }
    const { source, destination, signal, logger } = this.#context;
    const { selects } = scopeOf(begun.scope, destination, signal);
    const { proof, namespaces, doubts, counts } = await prove(
      {
        ...this.#context,
        catalog: { source, destination, selects, signal },
        sides: sidesOf(this.#context, begun.starts, generation.readAfter),
      },
      key,
    );
    await this.#update({});
    if (namespaces === 0) throw nothingCompared(begun.scope);
    await coverages.setCounted(this.#run, counts);
    if (doubts.length === 0) {
      await this.#complete('equal', proof);
      return true;
    }
    const reasons = doubts.map(({ namespace, reason }) => `${namespaceText(namespace)}: ${reason}`);
    if (generation.isAgain) throw notProven('no difference was found, but', reasons);
    logger.warn({ namespaces: shownReasons(reasons) }, 'comparing again what does not add up');
    const doubted: Notes = {
      note: `doubts:${generation.number}:${this.#epoch}`,
      first: 0,
      rechecks: doubts.map(({ namespace }) => ({ kind: 'whole', namespace })),
    };
    await rechecks.add(this.#run, generation.number + 1, [doubted]);
    await this.#plan('last', { begun, doubted, readAfter: generation.readAfter });
    return false;
  }

  async #complete(verdict: 'equal' | 'different', proof: Proof | null): Promise<void> {
    await this.#update({ status: 'complete', verdict, proof, completedAt: new Date() });
    this.#context.logger.info({ verdict, ...proof }, 'the verification is complete');
    this.#context.wakeup.wake();
  }

  async #update(change: Partial<VerificationRecord>): Promise<void> {
    await this.#context.stores.verifications.updateAsLead(this.#run, this.#epoch, change);
    this.#record = { ...this.#record, ...change };
  }

  #isWritesOff(): boolean {
    return this.#record.writesOff || this.#context.latest()?.writesOff === true;
  }

  /** Waits until a condition holds; it may come to hold by what happens here, or in another process. */
  async #until(
    condition: () => Promise<boolean> | boolean,
    signal = this.#context.signal,
  ): Promise<void> {
    const { wakeup } = this.#context;
    for (;;) {
      const { count } = wakeup;
      if (await condition()) return;
      await wakeup.since(count, pollMs, signal);
    }
  }
}
