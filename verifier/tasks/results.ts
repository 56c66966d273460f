import { Mutex } from '../../service/mutex.ts';
import type { IdKey } from '../compare/id-key.ts';
import {
  mismatchForms,
  mismatchOf,
  type DocumentDifference,
  type MetadataDifference,
} from '../compare/mismatch.ts';
import type { Amount } from '../compare/sides.ts';
import type { FoundMismatch, MismatchStore } from '../store/mismatch-store.ts';
import { bundles, type RecheckStore } from '../store/recheck-store.ts';
import {
  taskNote,
  type ClaimedTask,
  type PassKind,
  type PlanKey,
  type Recheck,
  type TaskEnd,
} from '../store/records.ts';
import type { TaskStore } from '../store/task-store.ts';
import type { Outcome } from './run-task.ts';

/** Where results are stored. */
export interface ResultStores {
  readonly tasks: TaskStore;
  readonly rechecks: RecheckStore;
  readonly mismatches: MismatchStore;
}

/** Differences that wait to be stored: a task that finds more has to wait. */
const maxWaitingDifferences = 10_000;

interface Result {
  readonly end: TaskEnd;
  readonly mismatches: readonly FoundMismatch[];
  readonly rechecks: readonly Recheck[];
}

/** A result whose notes have not been counted yet. */
type Finding = Omit<Result, 'end'> & { readonly end: Omit<TaskEnd, 'noted'> };

const nothing: Amount = { documents: 0, bytes: 0 };

/**
 * The results of tasks, on their way to the metadata store: tasks that end while others are being stored are stored together.
 * A task's end is recorded only after everything it found.
 */
export class Results {
  readonly #stores: ResultStores;
  readonly #plan: PlanKey;
  readonly #kind: PassKind;
  readonly #mutex = new Mutex();
  #waiting: Result[] = [];
  #waitingDifferences = 0;

  constructor(stores: ResultStores, plan: PlanKey, kind: PassKind) {
    this.#stores = stores;
    this.#plan = plan;
    this.#kind = kind;
  }

  /** Accepts a result, which `flush` stores. Resolves once there is room for another one. */
  async take(task: ClaimedTask, outcome: Outcome): Promise<void> {
    if (outcome.kind === 'split') await this.#stores.tasks.split(this.#plan, task, outcome.parts);
    const result = this.#resultOf(task, outcome);
    this.#waiting.push(result);
    this.#waitingDifferences += result.mismatches.length;
    if (this.#waitingDifferences > maxWaitingDifferences) await this.flush();
  }

  /** Stores what was accepted before. */
  async flush(): Promise<void> {
    await this.#mutex.run(async () => {
      const results = this.#waiting;
      if (results.length === 0) return;
      this.#waiting = [];
      this.#waitingDifferences = 0;
      const { tasks, rechecks, mismatches } = this.#stores;
      const { run, generation } = this.#plan;
      await mismatches.add(
        { run, generation },
        results.flatMap((result) => result.mismatches),
      );
      await rechecks.add(
        run,
        generation + 1,
        results.map(({ end, rechecks: found }) => {
          return { note: taskNote(end.task), first: 0, rechecks: found };
        }),
      );
      await tasks.end(results.map(({ end }) => end));
    });
  }

  #resultOf(task: ClaimedTask, outcome: Outcome): Result {
    const { end, ...found } = this.#foundBy(task, outcome);
    return { ...found, end: { ...end, noted: found.rechecks.length } };
  }

  #foundBy(task: ClaimedTask, outcome: Outcome): Finding {
    const { namespace } = task;
    const end = (found: Partial<Finding['end']>): Finding['end'] => ({
      task,
      isFailed: false,
      isMetadata: false,
      compared: nothing,
      read: null,
      parts: null,
      isOverflowing: false,
      isDisturbed: false,
      ...found,
    });
    const mismatches = (
      differences: readonly (DocumentDifference | MetadataDifference)[],
    ): FoundMismatch[] =>
      differences.map((difference) => ({
        mismatch: mismatchOf(namespace, difference),
        isChanged: task.work.kind === 'ids' && task.work.isChanged,
      }));
    switch (outcome.kind) {
      case 'split':
        return { end: end({ parts: outcome.parts.length }), mismatches: [], rechecks: [] };
      case 'metadata': {
        const { differences } = outcome;
        return {
          end: end({ isFailed: differences.length > 0, isMetadata: true }),
          mismatches: mismatches(differences),
          rechecks: this.#again(() => metadataRechecks(task, differences)),
        };
      }
      case 'documents': {
        const { found, isOverflowing, compared, read } = outcome.comparison;
        const isFailed = found.length > 0 || isOverflowing;
        return {
          end: end({ isFailed, compared, read, isOverflowing }),
          mismatches: mismatches(found),
          rechecks: this.#again(() => documentRechecks(task, found, isOverflowing)),
        };
      }
      case 'disturbed':
        return {
          end: end({ isFailed: true, isDisturbed: true }),
          mismatches: [],
          rechecks: [{ kind: 'whole', namespace }],
        };
    }
  }

  /** The last pass leaves nothing to be compared again. */
  #again(rechecks: () => readonly Recheck[]): readonly Recheck[] {
    return this.#kind === 'last' ? [] : rechecks();
  }
}

function metadataRechecks(
  { namespace }: ClaimedTask,
  differences: readonly MetadataDifference[],
): Recheck[] {
  if (differences.length === 0) return [];
  // The documents of one that is missing, or of another kind, were not compared.
  const isWhole = differences.some(({ kind }) =>
    ['exist', 'type'].includes(mismatchForms[kind].aspect),
  );
  return [{ kind: isWhole ? 'whole' : 'metadata', namespace }];
}

function documentRechecks(
  { namespace }: ClaimedTask,
  found: readonly DocumentDifference[],
  isOverflowing: boolean,
): Recheck[] {
  const ids = new Set<IdKey>();
  for (const { id, destinationId } of found) {
    ids.add(id);
    if (destinationId !== undefined) ids.add(destinationId);
  }
  if (isOverflowing) return [{ kind: 'whole', namespace }];
  return [...bundles(namespace, ids)];
}
