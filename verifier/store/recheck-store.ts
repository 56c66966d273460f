import { Binary, type Collection, type Document } from 'mongodb';
import { storedDocument } from '../../mongo/stored-document.ts';
import { readWhole } from '../../mongo/whole-reading.ts';
import type { Namespace } from '../../mongo/namespace.ts';
import { inGroupsOf } from '../../service/groups.ts';
import { keyBytes, type IdKey } from '../compare/id-key.ts';
import {
  forgetEndedRuns,
  insertNew,
  onStore,
  type LivingRuns,
  type MetadataStore,
} from './metadata-store.ts';
import type { Recheck } from './records.ts';
import { recheckIn } from './stored-records.ts';

interface StoredRecheck extends Document {
  _id: string;
}

/** Rechecks of one finder, in the order in which it notes them: the name and the number identify the recorded ones. */
export interface Notes {
  /** Names their finder; no other finder of the same run has this name. */
  readonly note: string;
  /** The index of the first of them: how many were noted under this name before. */
  readonly first: number;
  readonly rechecks: readonly Recheck[];
}

/** A recheck as stored. */
export type NotedRecheck = Recheck & { readonly note: string; readonly place: number };

/** Rechecks inserted by one command. */
const batchLength = 200;

/** All fields of a recheck: nobody changes one. */
const fixedFields = ['run', 'generation', 'count', 'kind', 'namespace', 'db', 'ids'];

/** What must be compared again, noted for the pass that has to do it. If it is noted twice, it is compared once or twice. */
export class RecheckStore {
  readonly #store: MetadataStore;
  readonly #rechecks: Collection<StoredRecheck>;

  constructor(store: MetadataStore) {
    this.#store = store;
    this.#rechecks = store.db.collection('rechecks');
  }

  async createIndexes(): Promise<void> {
    await onStore(this.#store, async () => {
      const key = { run: 1, generation: 1, 'namespace.db': 1, 'namespace.coll': 1 };
      await this.#rechecks.createIndexes([{ key, name: 'by_namespace' }]);
    });
  }

  /** Notes rechecks for a pass. */
  async add(run: string, generation: number, notes: readonly Notes[]): Promise<void> {
    const all = notes.flatMap(({ note, first, rechecks }) =>
      rechecks.map((recheck, index) => ({
        _id: `${run}:${note}:${first + index}`,
        run,
        generation,
        note,
        place: first + index,
        count: recheck.kind === 'ids' ? recheck.ids.length : 1,
        ...recheck,
      })),
    );
    for (const documents of inGroupsOf(all, batchLength)) {
      await onStore(this.#store, async () => {
        await insertNew(this.#rechecks, documents, fixedFields);
      });
    }
  }

  /**
   * Everything noted, by namespace, databases first. A plan takes all of it, whatever pass it is noted for: a coordinator that died
   * while it planned a pass has noted changes for the one after it, and the recorded position is past those changes.
   */
  async *all(run: string): AsyncGenerator<NotedRecheck, void> {
    const { signal } = this.#store;
    const cursor = this.#rechecks
      .find({ run }, { signal, batchSize: 100 })
      .sort({ 'namespace.db': 1, 'namespace.coll': 1 })
      .allowDiskUse(true);
    for await (const stored of cursor) yield recheckIn(this.#rechecks, stored);
  }

  /** True if something is noted. */
  async isWaiting(run: string): Promise<boolean> {
    const { signal } = this.#store;
    return await onStore(this.#store, async () => {
      return (await this.#rechecks.findOne({ run }, { signal, projection: { _id: 1 } })) !== null;
    });
  }

  /** How many documents, namespaces and databases are noted for passes after this one. */
  async count(run: string, after: number): Promise<number> {
    const { signal } = this.#store;
    const pipeline = [
      { $match: { run, generation: { $gt: after } } },
      { $group: { _id: null, count: { $sum: '$count' } } },
    ];
    const [row] = await onStore(this.#store, async () => {
      return await readWhole(this.#rechecks.aggregate(pipeline, { signal }));
    });
    return row === undefined ? 0 : storedDocument(this.#rechecks, row).field('count').count();
  }

  /** Deletes the rechecks from which a pass was planned, all of whose tasks are stored. */
  async forgetUpTo(run: string, generation: number): Promise<void> {
    await onStore(this.#store, async () => {
      await this.#rechecks.deleteMany({ run, generation: { $lte: generation } });
    });
  }

  async forgetRuns(living: LivingRuns): Promise<void> {
    await forgetEndedRuns(this.#store, this.#rechecks, living);
  }
}

/** Bounds of a bundle that is stored as one. */
export interface BundleLimits {
  /** Ids, and their characters. */
  readonly bundleIds: number;
  readonly bundleLength: number;
}

export const defaultBundleLimits: BundleLimits = { bundleIds: 1000, bundleLength: 1024 * 1024 };

/** Ids in bundles that can be stored, and looked up, as one. */
export function* bundles(
  namespace: Namespace,
  ids: Iterable<IdKey>,
  { bundleIds, bundleLength }: BundleLimits = defaultBundleLimits,
): Generator<Recheck & { readonly kind: 'ids' }, void> {
  let bundle: Binary[] = [];
  let length = 0;
  for (const id of ids) {
    const isFull = bundle.length >= bundleIds || length + id.length > bundleLength;
    if (isFull && bundle.length > 0) {
      yield { kind: 'ids', namespace, ids: bundle };
      bundle = [];
      length = 0;
    }
    bundle.push(new Binary(keyBytes(id)));
    length += id.length;
  }
  if (bundle.length > 0) yield { kind: 'ids', namespace, ids: bundle };
}
