import type { AnyBulkWriteOperation, Collection, Document } from 'mongodb';
import type { CheckedValue } from '../../mongo/checked-value.ts';
import { namespaceIn, storedDocument } from '../../mongo/stored-document.ts';
import { readWhole } from '../../mongo/whole-reading.ts';
import { namespaceText, type Namespace } from '../../mongo/namespace.ts';
import { inGroupsOf } from '../../service/groups.ts';
import type { Sides } from '../../mongo/sides.ts';
import { forgetEndedRuns, onStore, type LivingRuns, type MetadataStore } from './metadata-store.ts';
import type { Count, Coverage, Tally } from './records.ts';
import { readDocumentsIn, tallyIn } from './stored-records.ts';

interface Stored extends Document {
  _id: string;
}

/** What was read of a namespace, and counted for the verdict. */
export interface CountedCoverage extends Coverage {
  readonly counted: Sides<number> | null;
}

/** Namespaces written by one command. */
const batchLength = 500;

/** Tallies of a namespace that become one at a time. */
const foldedTogether = 1_000;

const none: Tally = {
  inserted: { source: 0, destination: 0 },
  deleted: { source: 0, destination: 0 },
};

/** What the passes of a run have read of each collection, and the inserts and deletes since: the basis of `equal`. */
export class CoverageStore {
  readonly #store: MetadataStore;
  readonly #coverages: Collection<Stored>;
  readonly #tallies: Collection<Stored>;

  constructor(store: MetadataStore) {
    this.#store = store;
    this.#coverages = store.db.collection('coverages');
    this.#tallies = store.db.collection('tallies');
  }

  /** Records what a pass has read. Each coordinator that finds the pass finished records the same. */
  async add(run: string, coverages: readonly Coverage[]): Promise<void> {
    await this.#write(
      this.#coverages,
      coverages.map((coverage) => {
        const name = namespaceText(coverage.namespace);
        const replacement = { run, name, ...coverage, counted: null };
        const _id = `${run}:${coverage.generation}:${name}`;
        return { replaceOne: { filter: { _id }, replacement, upsert: true } };
      }),
    );
  }

  /** Records the counts of both sides. */
  async setCounted(
    run: string,
    counts: readonly (Count & { readonly generation: number })[],
  ): Promise<void> {
    await this.#write(
      this.#coverages,
      counts.map(({ namespace, generation, counted }) => {
        const _id = `${run}:${generation}:${namespaceText(namespace)}`;
        return { updateOne: { filter: { _id }, update: { $set: { counted } } } };
      }),
    );
  }

  /** The latest coverage of each namespace, by name. */
  async latest(run: string, names?: readonly string[]): Promise<Map<string, CountedCoverage>> {
    const { signal } = this.#store;
    const filter = { run, ...(names && { name: { $in: [...names] } }) };
    const found = await onStore(this.#store, async () => {
      const sort = { name: 1, generation: 1 } as const;
      return await readWhole(this.#coverages.find(filter, { signal, sort }));
    });
    return new Map(
      found.map((stored) => {
        const record = storedDocument(this.#coverages, stored);
        return [record.field('name').text(), coverageIn(record)];
      }),
    );
  }

  /**
   * Adds to the inserts and deletes since a pass was planned. If an answer is lost, the same is added twice, and also if a coordinator
   * reads events again: a tally is never too small.
   */
  async addTallies(
    run: string,
    generation: number,
    tallies: ReadonlyMap<string, Tally>,
  ): Promise<void> {
    await this.#write(
      this.#tallies,
      Array.from(tallies, ([name, tally]) => {
        const filter = { _id: `${run}:${generation}:${name}` };
        const update = { $inc: fieldsOf(tally), $setOnInsert: { run, generation, name } };
        return { updateOne: { filter, update, upsert: true } };
      }),
    );
  }

  /** The inserts and deletes in a namespace since a pass was planned. */
  async tallySince(run: string, namespace: Namespace, generation: number): Promise<Tally> {
    const { signal } = this.#store;
    const filter = { run, name: namespaceText(namespace), generation: { $gt: generation } };
    const found = await onStore(this.#store, async () => {
      return await readWhole(this.#tallies.find(filter, { signal }));
    });
    return found.reduce<Tally>((sum, stored) => plus(sum, tallyIn(this.#tallies, stored)), none);
  }

  /**
   * Keeps of each namespace its latest coverage, and one tally of all passes before a given one, to which nobody adds by then: a run may
   * take millions of passes. A tally that is interrupted counts twice: it is never too small.
   */
  async fold(run: string, generation: number): Promise<void> {
    for (const { name, latest } of await this.#several(this.#coverages, run, generation))
      await onStore(this.#store, async () => {
        await this.#coverages.deleteMany({ run, name, generation: { $lt: latest } });
      });
    for (const { name } of await this.#several(this.#tallies, run, generation)) {
      while ((await this.#foldTallies({ run, name, generation })) === foldedTogether);
    }
  }

  /** The namespaces with several records of passes before a given one, and the latest of these passes. */
  async #several(
    records: Collection<Stored>,
    run: string,
    generation: number,
  ): Promise<readonly { readonly name: string; readonly latest: number }[]> {
    const pipeline = [
      { $match: { run, generation: { $lt: generation } } },
      { $group: { _id: '$name', count: { $sum: 1 }, latest: { $max: '$generation' } } },
      { $match: { count: { $gt: 1 } } },
    ];
    const { signal } = this.#store;
    const found = await onStore(this.#store, async () => {
      return await readWhole(records.aggregate(pipeline, { signal }));
    });
    return found.map((stored) => {
      const record = storedDocument(records, stored);
      return { name: record.field('_id').text(), latest: record.field('latest').count() };
    });
  }

  /** @returns how many tallies were found, of which one is left. */
  async #foldTallies({ run, name, generation }: OldTallies): Promise<number> {
    const { signal } = this.#store;
    return await onStore(this.#store, async () => {
      const before = { run, name, generation: { $lt: generation } };
      const sort = { generation: 1 } as const;
      const found = await readWhole(
        this.#tallies.find(before, { signal, sort, limit: foldedTogether }),
      );
      const last = found.at(-1);
      if (!last || found.length === 1) return found.length;
      const [coverage] = await readWhole(
        this.#coverages.find({ run, name }, { signal, sort: { generation: -1 }, limit: 1 }),
      );
      const covered = coverage
        ? storedDocument(this.#coverages, coverage).field('generation').count()
        : -1;
      const others = found.slice(0, -1).map((stored) => {
        const record = storedDocument(this.#tallies, stored);
        const tally = tallyIn(this.#tallies, stored);
        return { _id: stored._id, generation: record.field('generation').count(), tally };
      });
      const sum = others
        .filter((other) => other.generation > covered)
        .reduce<Tally>((all, { tally }) => plus(all, tally), none);
      await this.#tallies.bulkWrite([
        { updateOne: { filter: { _id: last._id }, update: { $inc: fieldsOf(sum) } } },
        // One that has changed since it was read stays.
        ...others.map(({ _id, tally }) => ({ deleteOne: { filter: { _id, ...fieldsOf(tally) } } })),
      ]);
      return found.length;
    });
  }

  async createIndexes(): Promise<void> {
    await onStore(this.#store, async () => {
      const key = { run: 1, name: 1, generation: 1 };
      await this.#coverages.createIndexes([{ key, name: 'by_name' }]);
      await this.#tallies.createIndexes([{ key, name: 'by_name' }]);
    });
  }

  async forgetRuns(living: LivingRuns): Promise<void> {
    await forgetEndedRuns(this.#store, this.#coverages, living);
    await forgetEndedRuns(this.#store, this.#tallies, living);
  }

  async #write(
    collection: Collection<Stored>,
    writes: readonly AnyBulkWriteOperation<Stored>[],
  ): Promise<void> {
    for (const group of inGroupsOf(writes, batchLength)) {
      await onStore(this.#store, async () => {
        await collection.bulkWrite(group, { ordered: false });
      });
    }
  }
}

/** The tallies of a namespace from passes before a given one. */
interface OldTallies {
  readonly run: string;
  readonly name: string;
  readonly generation: number;
}

function fieldsOf({ inserted, deleted }: Tally): Document {
  return {
    'inserted.source': inserted.source,
    'inserted.destination': inserted.destination,
    'deleted.source': deleted.source,
    'deleted.destination': deleted.destination,
  };
}

function coverageIn(record: CheckedValue): CountedCoverage {
  const counted = record.orNull('counted');
  return {
    namespace: namespaceIn(record.field('namespace')),
    generation: record.field('generation').count(),
    isOfLast: record.field('isOfLast').boolean(),
    ranges: record.field('ranges').count(),
    read: readDocumentsIn(record.field('read')),
    counted: counted && sidesIn(counted),
  };
}

function sidesIn(value: CheckedValue): Sides<number> {
  return {
    source: value.field('source').count(),
    destination: value.field('destination').count(),
  };
}

function plus(one: Tally, other: Tally): Tally {
  const sum = (a: Sides<number>, b: Sides<number>): Sides<number> => {
    return { source: a.source + b.source, destination: a.destination + b.destination };
  };
  return {
    inserted: sum(one.inserted, other.inserted),
    deleted: sum(one.deleted, other.deleted),
  };
}
