import type { Timestamp } from 'mongodb';
import type { RetryContext } from '../../mongo/retrying.ts';
import type { CatalogContext } from '../compare/namespace-pairs.ts';
import type { Sides } from '../../mongo/sides.ts';
import type { Amount } from '../compare/sides.ts';
import type { Notes } from '../store/recheck-store.ts';
import {
  planKey,
  type PlanKey,
  type TaskCounts,
  type PassKind,
  type PassRecord,
  type Position,
  type Start,
} from '../store/records.ts';
import type { Stores } from '../store/stores.ts';
import { readCoverage } from './coverage.ts';
import type { CoordinatorLease } from './coordinator-lease.ts';
import { expectedNotes } from './notes.ts';
import { passResult } from './pass-result.ts';
import { planPass } from './plan-pass.ts';
import { NotProven } from './prove.ts';

const nothing: Amount = { documents: 0, bytes: 0 };

/** A run may take millions of passes: what each leaves is put together now and then. */
const passesBetweenFolds = 100;

/** What passes need. */
export interface PassContext extends RetryContext {
  readonly stores: Pick<Stores, 'tasks' | 'rechecks' | 'mismatches' | 'coverages'>;
  readonly catalog: CatalogContext;
}

/** A pass that is about to begin. */
export interface NextPass {
  readonly kind: PassKind;
  /** True if everything is compared, regardless of what is pending. */
  readonly isOfAll?: boolean;
  /** How far the changes were read. */
  readonly followed: Sides<Position | null>;
  /** What its reads see at least; if undefined, what was followed. */
  readonly readAfter?: Sides<Timestamp>;
  /** What a last pass has noted that did not prove everything: the pass after it is the last one. */
  readonly doubted?: Notes;
}

/** The passes of a verification, one after the other: their tasks are shared by all its processes. */
export class PassRunner {
  readonly #context: PassContext;
  readonly #lease: CoordinatorLease;
  readonly #starts: Sides<Start>;

  constructor(context: PassContext, lease: CoordinatorLease, starts: Sides<Start>) {
    this.#context = context;
    this.#lease = lease;
    this.#starts = starts;
  }

  /** Stores all tasks of the next pass, then the pass: from then on its tasks can be claimed. @throws CoordinatorLeaseLost */
  async plan({ kind, isOfAll = false, followed, doubted, readAfter }: NextPass): Promise<void> {
    const { stores, logger } = this.#context;
    const { tasks, rechecks, mismatches, coverages } = stores;
    const { run, epoch, record } = this.#lease;
    const former = record.generation;
    const times = readAfter ?? {
      source: followed.source?.time ?? this.#starts.source.from,
      destination: followed.destination?.time ?? this.#starts.destination.from,
    };
    const key = { run, generation: (former?.number ?? -1) + 1, epoch };
    const notes = await expectedNotes(tasks, record, doubted);
    const count = await planPass(this.#context, { kind, isOfAll, key, notes }).catch(
      async (error: unknown) => {
        // Another coordinator may have planned the next pass, and forgotten what this one misses.
        if (error instanceof NotProven) await this.#lease.update();
        throw error;
      },
    );
    const compared = former ? (await tasks.counts(planKey(run, former))).compared : nothing;
    const { totals } = this.#lease.record;
    const { generation: number } = key;
    await this.#lease.update({
      generation: {
        number,
        epoch,
        kind,
        isAgain: doubted !== undefined,
        plannedTasks: count,
        readAfter: times,
        comparedUpTo: former?.readAfter ?? null,
        startedAt: new Date(),
        noted: null,
      },
      totals: {
        documents: totals.documents + compared.documents,
        bytes: totals.bytes + compared.bytes,
      },
    });
    logger.info({ generation: number, kind, tasks: count }, 'pass begins');
    this.#lease.wake();
    await rechecks.forgetUpTo(run, number);
    await tasks.forgetOthers(key);
    // Those of the previous pass tell since when a document differs.
    if (former) await mismatches.forgetBefore({ run, generation: former.number });
    if (number % passesBetweenFolds === 0) await coverages.fold(run, number);
  }

  /**
   * Waits until all tasks of the current pass have ended, and records what they have read.
   * @returns their counts.
   * @throws SyncError CheckFailed if the recorded tasks are incomplete; CoordinatorLeaseLost.
   */
  async ended(): Promise<TaskCounts> {
    const { run, record } = this.#lease;
    const { generation: pass } = record;
    if (!pass) throw new Error('the end of a pass before the first one');
    const key = planKey(run, pass);
    const { tasks } = this.#context.stores;
    await this.#lease.until(async () => await tasks.isOver(key));
    const counts = await countsAtEnd(this.#context, this.#lease, key);
    const { failed, completed, metadataMismatch } = counts;
    await this.#recordEnd(pass, counts);
    const { number, kind, startedAt } = pass;
    const tookMs = Date.now() - startedAt.getTime();
    this.#context.logger.info(
      { generation: number, kind, tookMs, failed, completed, metadataMismatch },
      'pass ended',
    );
    return counts;
  }

  /** Determines from the record what a pass has found, and of which collections it has read every document. */
  async #recordEnd(pass: PassRecord, counts: TaskCounts): Promise<void> {
    const { coverages, mismatches } = this.#context.stores;
    const { run, record } = this.#lease;
    const { covered, problems, noted } = await readCoverage(this.#context, run, pass);
    const { number: generation } = pass;
    const found = await mismatches.numbers({ run, generation });
    // Meanwhile another coordinator may have planned the next pass and deleted these tasks: then they prove nothing.
    await this.#lease.update({
      generation: { ...pass, noted: pass.noted ?? noted },
      lastPass: passResult(pass, record.lastPass, {
        ...found,
        // A task that was disturbed has failed, and stores nothing.
        mismatches: Math.max(found.mismatches, counts.failed),
        isWhole: counts.disturbed === 0 && !counts.isOverflowing && problems.length === 0,
        endedAt: new Date(),
      }),
    });
    await coverages.add(run, covered);
    if (problems.length > 0) throw new NotProven(`pass ${pass.number} is not complete`, problems);
  }
}

/** The tasks of a pass that has ended. A new primary of the metadata store may not have the ends of all of them for a moment. */
export async function countsAtEnd(
  { stores }: { readonly stores: { readonly tasks: Pick<Stores['tasks'], 'counts'> } },
  lease: Pick<CoordinatorLease, 'until'>,
  key: PlanKey,
): Promise<TaskCounts> {
  let counts = await stores.tasks.counts(key);
  const haveEnded = (): boolean => counts.added + counts.processing === 0;
  if (haveEnded()) return counts;
  await lease.until(async () => {
    counts = await stores.tasks.counts(key);
    return haveEnded();
  });
  return counts;
}
