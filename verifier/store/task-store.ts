import {
  UUID,
  type AnyBulkWriteOperation,
  type Collection,
  type Document,
  type Filter,
} from 'mongodb';
import { namespaceIn, storedDocument } from '../../mongo/stored-document.ts';
import { boundedDocuments, readWhole } from '../../mongo/whole-reading.ts';
import type { Namespace } from '../../mongo/namespace.ts';
import { inGroupsOf } from '../../service/groups.ts';
import {
  forgetEndedRuns,
  insertNew,
  onStore,
  type LivingRuns,
  type MetadataStore,
} from './metadata-store.ts';
import {
  taskNote,
  type ClaimedTask,
  type NamespaceCounts,
  type PartKey,
  type PlanKey,
  type RangeTask,
  type Task,
  type TaskCounts,
  type TaskEnd,
} from './records.ts';
import { rangeTaskIn, taskIn, workKindIn } from './stored-records.ts';
import {
  countsIn,
  countsPipeline,
  namespaceCountsIn,
  namespaceCountsPipeline,
} from './task-counts.ts';

interface StoredPart extends PartKey {
  /** The number of the claim. */
  readonly claims: number;
}

interface StoredTask extends Document {
  _id: string;
}

/** Parts of a collection come first: other processes get work as soon as a large one is split. */
const partSeq = -1;

/** How much more work a range is than a small task. */
const rangeWeight = 4;

/** Tasks inserted or ended by one command. */
const batchLength = 200;

/** The fields of a task that nobody changes after it was stored. */
const fixedFields = ['run', 'generation', 'epoch', 'namespace', 'work', 'expected', 'seq', 'part'];

/**
 * The tasks of all passes. A task goes from `added` to `processing` to `completed` or `failed`; if the process that claimed it
 * has given it up or is gone, it returns to `added`. It ends only for the claim that holds it.
 */
export class TaskStore {
  readonly #store: MetadataStore;
  readonly #tasks: Collection<StoredTask>;

  constructor(store: MetadataStore) {
    this.#store = store;
    this.#tasks = store.db.collection('tasks');
  }

  async createIndexes(): Promise<void> {
    await onStore(this.#store, async () => {
      const key = { run: 1, generation: 1, epoch: 1, state: 1, seq: 1 };
      await this.#tasks.createIndexes([{ key, name: 'by_state' }]);
    });
  }

  /** Stores tasks of a plan, which nobody claims yet, to be claimed in the order of `seq`. */
  async add(plan: PlanKey, tasks: readonly Task[], seq: number): Promise<void> {
    await this.#insert(
      tasks.map((task) => {
        const _id = new UUID().toHexString();
        return { _id, ...plan, ...storedTask(task), seq };
      }),
    );
  }

  /** Deletes the unclaimed tasks that an attempt at a plan has left behind. */
  async drop(plan: PlanKey): Promise<void> {
    await onStore(this.#store, async () => {
      await this.#tasks.deleteMany({ ...plan });
    });
  }

  /**
   * Splits a task: its parts are stored and replace it. Parts of an earlier, abandoned claim are removed when
   * a task is claimed again: those of a lower number, since a claim that is held up removes them late. The name of a part contains
   * both the task and the claim: one claim takes several tasks, and each of them may be split.
   */
  async split(plan: PlanKey, parent: ClaimedTask, parts: readonly Task[]): Promise<void> {
    await this.#insert(
      parts.map((task, index) => ({
        _id: `${parent.key}:${parent.claim}:${index}`,
        ...plan,
        ...storedTask(task),
        seq: partSeq,
        part: {
          parent: parent.key,
          claim: parent.claim,
          claims: parent.claims,
          index,
        } satisfies StoredPart,
      })),
    );
  }

  /** Claims tasks of a pass: this many small ones, or a quarter as many ranges. @param claim - a new name. */
  async claim(
    plan: PlanKey,
    weight: number,
    { owner, claim }: { readonly owner: string; readonly claim: string },
  ): Promise<ClaimedTask[]> {
    const { signal } = this.#store;
    const readTaken = async (): Promise<StoredTask[]> => {
      const filter = { ...plan, state: 'processing', claim };
      return await readWhole(this.#tasks.find(filter, { signal }));
    };
    return await onStore(this.#store, async (attempt) => {
      // An attempt whose answer was lost has claimed tasks that nobody would claim again while this process is alive.
      let taken = attempt > 0 ? await readTaken() : [];
      if (taken.length === 0) {
        const options = { signal, projection: { 'work.kind': 1 }, sort: { seq: 1 } } as const;
        const added = this.#tasks.find({ ...plan, state: 'added' }, { ...options, limit: weight });
        const free = await readWhole(added);
        if (free.length === 0) return [];
        await this.#tasks.updateMany(
          { _id: { $in: this.#keysWithin(free, weight) }, state: 'added' },
          { $set: { state: 'processing', owner, claim }, $inc: { claims: 1 } },
        );
        taken = await readTaken();
      }
      const claimed = taken.map((task) => {
        return { ...taskIn(this.#tasks, task), key: task._id, claim };
      });
      const earlier = claimed
        .filter(({ claims }) => claims > 1)
        .map(({ key, claims }) => ({ 'part.parent': key, 'part.claims': { $lt: claims } }));
      if (earlier.length > 0) await this.#tasks.deleteMany({ ...plan, $or: earlier });
      return claimed;
    });
  }

  /** Records how tasks ended, after everything they found was stored. */
  async end(ends: readonly TaskEnd[]): Promise<void> {
    const writes = ends.map(
      ({
        task,
        isFailed,
        isMetadata,
        isOverflowing,
        isDisturbed,
        compared,
        read,
        parts,
        noted,
      }): AnyBulkWriteOperation<StoredTask> => ({
        updateOne: {
          filter: { _id: task.key, claim: task.claim, state: 'processing' },
          update: {
            $set: {
              state: isFailed ? 'failed' : 'completed',
              isMetadataMismatch: isFailed && isMetadata,
              isOverflowing,
              isDisturbed,
              compared,
              read,
              parts,
              noted,
            },
          },
        },
      }),
    );
    await onStore(this.#store, async () => {
      await this.#tasks.bulkWrite(writes, { ordered: false });
    });
  }

  /** Releases the tasks of processes that are gone. */
  async releaseOthers(run: string, living: readonly string[]): Promise<void> {
    await this.#release({ run, owner: { $nin: [...living] } });
  }

  /** Releases the tasks of a pass that a process has claimed: it carries out none of them. */
  async releaseOf(plan: PlanKey, owner: string): Promise<void> {
    const { signal } = this.#store;
    const claimed = { ...plan, owner };
    // Nearly always there is none, and a write waits for a majority even if it changes nothing.
    const found = await onStore(this.#store, async () => {
      const query = { ...claimed, state: 'processing' } as const;
      return await this.#tasks.findOne(query, { signal, projection: { _id: 1 } });
    });
    if (found !== null) await this.#release(claimed);
  }

  async #release(claimed: Filter<StoredTask>): Promise<void> {
    await onStore(this.#store, async () => {
      await this.#tasks.updateMany(
        { ...claimed, state: 'processing' },
        { $set: { state: 'added' }, $unset: { owner: 1, claim: 1 } },
      );
    });
  }

  /** True once all tasks of a pass have ended. */
  async isOver(plan: PlanKey): Promise<boolean> {
    const { signal } = this.#store;
    return await onStore(this.#store, async () => {
      const open = { ...plan, state: { $in: ['added', 'processing'] } };
      return (await this.#tasks.findOne(open, { signal, projection: { _id: 1 } })) === null;
    });
  }

  async counts(plan: PlanKey): Promise<TaskCounts> {
    const { signal } = this.#store;
    const pipeline = countsPipeline(plan);
    const rows = await onStore(this.#store, async () => {
      return await readWhole(this.#tasks.aggregate(pipeline, { signal }));
    });
    return countsIn(this.#tasks, rows);
  }

  /** Counts by namespace, in the order of their names. @param page - the namespace after which to begin, and how many. */
  async countsByNamespace(
    plan: PlanKey,
    page: { readonly after: string; readonly limit: number },
  ): Promise<NamespaceCounts[]> {
    const { signal } = this.#store;
    const pipeline = namespaceCountsPipeline(plan, page);
    const rows = await onStore(this.#store, async () => {
      return await readWhole(this.#tasks.aggregate(pipeline, { signal }));
    });
    return rows.map((row) => namespaceCountsIn(this.#tasks, row));
  }

  /** Limits a claim: this many small tasks, or a quarter as many ranges. */
  #keysWithin(tasks: readonly StoredTask[], weight: number): string[] {
    let room = weight;
    const isWithin = (task: StoredTask): boolean => {
      const hasRoom = room > 0;
      room -= workKindIn(this.#tasks, task) === 'range' ? rangeWeight : 1;
      return hasRoom;
    };
    return tasks.filter(isWithin).map(({ _id }) => _id);
  }

  /** How many rechecks the tasks of a pass have noted in total. */
  async notedCount(plan: PlanKey): Promise<number> {
    const { signal } = this.#store;
    const pipeline = [
      { $match: { ...plan } },
      { $group: { _id: null, noted: { $sum: '$noted' } } },
    ];
    const [row] = await onStore(this.#store, async () => {
      return await readWhole(this.#tasks.aggregate(pipeline, { signal }));
    });
    return row === undefined ? 0 : storedDocument(this.#tasks, row).field('noted').count();
  }

  /** How many rechecks each task of a pass has noted, by the name of its notes. */
  async notes(plan: PlanKey): Promise<Map<string, number>> {
    const { signal } = this.#store;
    const projection = { claim: 1, noted: 1 };
    return await onStore(this.#store, async () => {
      const counts = new Map<string, number>();
      const options = { signal, batchSize: 1000, projection };
      const noted = this.#tasks.find({ ...plan, noted: { $gt: 0 } }, options);
      for await (const stored of boundedDocuments(noted)) {
        const record = storedDocument(this.#tasks, stored);
        const task = { key: stored._id, claim: record.field('claim').text() };
        counts.set(taskNote(task), record.field('noted').count());
      }
      return counts;
    });
  }

  /** The planned tasks of a pass, without the parts of those that were split. */
  async plannedCount(plan: PlanKey): Promise<number> {
    const { signal } = this.#store;
    const planned = { ...plan, part: { $exists: false } };
    return await onStore(this.#store, async () => {
      return await this.#tasks.countDocuments(planned, { signal });
    });
  }

  /** The tasks of a pass on whole collections and their parts, grouped by namespace and sorted by position. */
  async *rangeTasks(plan: PlanKey): AsyncGenerator<RangeTask, void> {
    const { signal } = this.#store;
    const filter = { ...plan, 'work.kind': { $in: ['collection', 'range'] } };
    const cursor = this.#tasks
      .find(filter, { signal, batchSize: 1000 })
      .sort({ 'namespace.db': 1, 'namespace.coll': 1, 'part.index': 1 })
      .allowDiskUse(true);
    for await (const stored of cursor) yield rangeTaskIn(this.#tasks, stored);
  }

  /** The namespaces whose existence, options and indexes a pass has compared without finding a difference. */
  async *equalMetadata(plan: PlanKey): AsyncGenerator<Namespace, void> {
    const { signal } = this.#store;
    const filter = { ...plan, 'work.kind': 'metadata', state: 'completed' };
    const options = { signal, batchSize: 1000, projection: { namespace: 1 } };
    for await (const stored of this.#tasks.find(filter, options))
      yield namespaceIn(storedDocument(this.#tasks, stored).field('namespace'));
  }

  /** Deletes the tasks of a run except those of one pass. */
  async forgetOthers({ run, generation, epoch }: PlanKey): Promise<void> {
    await onStore(this.#store, async () => {
      await this.#tasks.deleteMany({ run, generation: { $lt: generation } });
      await this.#tasks.deleteMany({ run, generation, epoch: { $lt: epoch } });
    });
  }

  async forgetRuns(living: LivingRuns): Promise<void> {
    await forgetEndedRuns(this.#store, this.#tasks, living);
  }

  async #insert(tasks: readonly StoredTask[]): Promise<void> {
    for (const group of inGroupsOf(tasks, batchLength)) {
      await onStore(this.#store, async () => {
        await insertNew(this.#tasks, group, fixedFields);
      });
    }
  }
}

function storedTask({ namespace, work, expected }: Task): Document {
  return { namespace, work, expected, state: 'added', claims: 0 };
}
