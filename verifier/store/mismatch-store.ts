import { createHash } from 'node:crypto';
import type { AnyBulkWriteOperation, Collection, Document } from 'mongodb';
import type { CheckedValue } from '../../mongo/checked-value.ts';
import { storedDocument } from '../../mongo/stored-document.ts';
import { readWhole } from '../../mongo/whole-reading.ts';
import { inGroupsOf } from '../../service/groups.ts';
import type { MismatchPage, VerificationProgress } from '../../sync-api/json.ts';
import { mismatchForms, type Mismatch, type MismatchView } from '../compare/mismatch.ts';
import { forgetEndedRuns, onStore, type LivingRuns, type MetadataStore } from './metadata-store.ts';
import type { PassKey, PassResult } from './records.ts';

interface StoredMismatch extends Document {
  _id: string;
}

/** Mismatches written by one command. */
const batchLength = 500;

/** The mismatches of a pass, counted. */
export interface MismatchCounts {
  /** By name. */
  readonly kinds: VerificationProgress['mismatchKinds'];
  /** Those with the most, the most first. */
  readonly namespaces: VerificationProgress['mismatchNamespaces'];
}

const mismatchKinds = Object.keys(mismatchForms) as (keyof typeof mismatchForms)[];

/** How many namespaces are counted by name. */
const maxNamespaces = 10;

/** A difference that a pass has found. */
export interface FoundMismatch {
  readonly mismatch: Mismatch;
  /** True if the document has changed since the last pass: whatever that pass has found there is over. */
  readonly isChanged: boolean;
}

/** A difference, and how long it has lasted. */
export interface LastingMismatch {
  readonly view: MismatchView;
  /** From when a pass has found it first to when the pass at hand has found it, by the clocks of the processes. */
  readonly durationMs: number;
}

/** Which differences of a pass are meant. */
export interface MismatchSelection {
  /** Those of documents, or those of namespaces. */
  readonly of: 'documents' | 'namespaces';
  /** Those that have lasted this long. */
  readonly minDurationMs: number;
  /** Fields of indexes: differences in these are not meant. None if absent. */
  readonly ignoredIndexFields?: readonly IgnorableIndexField[];
}

/** The fields of an index whose differences can be left out. */
export const ignorableIndexFields = ['expireAfterSeconds', 'unique'] as const;

export type IgnorableIndexField = (typeof ignorableIndexFields)[number];

/** Documents of the store in one batch of a cursor. */
const cursorBatch = 200;

/** The differences that passes have found, by namespace. One that is found twice is stored once. */
export class MismatchStore {
  readonly #store: MetadataStore;
  readonly #mismatches: Collection<StoredMismatch>;

  constructor(store: MetadataStore) {
    this.#store = store;
    this.#mismatches = store.db.collection('mismatches');
  }

  async createIndexes(): Promise<void> {
    await onStore(this.#store, async () => {
      const key = { run: 1, generation: 1, of: 1, durationMs: -1, _id: 1 } as const;
      await this.#mismatches.createIndexes([{ key, name: 'by_duration' }]);
    });
  }

  /** Stores what a pass has found, with the time since when each pass up to it has found the same. */
  async add(pass: PassKey, found: readonly FoundMismatch[]): Promise<void> {
    for (const group of inGroupsOf(found, batchLength)) {
      const since = await this.#firstFound(pass, group);
      const foundAt = new Date();
      const writes = group.map(({ mismatch }): AnyBulkWriteOperation<StoredMismatch> => {
        const firstFoundAt = since.get(mismatch) ?? foundAt;
        // The process that has found it first may have another clock.
        const durationMs = Math.max(0, foundAt.getTime() - firstFoundAt.getTime());
        const times = { firstFoundAt, foundAt, durationMs };
        const of = isOfDocument(mismatch.view) ? 'documents' : 'namespaces';
        return {
          replaceOne: {
            filter: { _id: keyOf(pass, mismatch) },
            replacement: { ...pass, of, ...times, mismatch: mismatch.view },
            upsert: true,
          },
        };
      });
      await onStore(this.#store, async () => {
        await this.#mismatches.bulkWrite(writes, { ordered: false });
      });
    }
  }

  /** When those that the pass before has found, too, were found first. */
  async #firstFound(
    { run, generation }: PassKey,
    found: readonly FoundMismatch[],
  ): Promise<ReadonlyMap<Mismatch, Date>> {
    if (generation === 0) return new Map();
    const former = { run, generation: generation - 1 };
    const byKey = new Map(
      found.flatMap(({ mismatch, isChanged }) =>
        isChanged ? [] : [[keyOf(former, mismatch), mismatch] as const],
      ),
    );
    if (byKey.size === 0) return new Map();
    const { signal } = this.#store;
    const options = { signal, projection: { firstFoundAt: 1 } } as const;
    const known = await onStore(this.#store, async () => {
      return await readWhole(this.#mismatches.find({ _id: { $in: [...byKey.keys()] } }, options));
    });
    return new Map(
      known.flatMap((stored) => {
        const mismatch = byKey.get(stored._id);
        const first = storedDocument(this.#mismatches, stored).field('firstFoundAt').date();
        return mismatch ? [[mismatch, first] as const] : [];
      }),
    );
  }

  /** The differences of a pass, those that have lasted longest first. Not repeated if the store fails meanwhile. */
  async *lasting(
    pass: PassKey,
    selection: MismatchSelection,
    signal: AbortSignal,
  ): AsyncGenerator<LastingMismatch, void> {
    const cursor = this.#mismatches
      .find(lastingFilter(pass, selection), { signal, batchSize: cursorBatch })
      .sort({ durationMs: -1, _id: 1 });
    for await (const stored of cursor) {
      const record = storedDocument(this.#mismatches, stored);
      yield {
        view: viewIn(record.field('mismatch')),
        durationMs: record.field('durationMs').count(),
      };
    }
  }

  /** How many such differences there are of each kind, and in each of the namespaces with the most of them. */
  async lastingCounts(
    pass: PassKey,
    selection: MismatchSelection,
    maxCounted: number,
  ): Promise<MismatchCounts> {
    return await this.#count(lastingFilter(pass, selection), maxCounted);
  }

  /** @param after - `next` of the page before; undefined for the first one. */
  async page(pass: PassKey, limit: number, after?: string): Promise<MismatchPage> {
    const { signal } = this.#store;
    const prefix = passText(pass);
    const from = after === undefined ? prefix : prefix + after;
    const found = await onStore(this.#store, async () => {
      const filter = { _id: { $gt: from, $lt: `${prefix}\u{10ffff}` } };
      const options = { signal, sort: { _id: 1 }, limit: limit + 1 } as const;
      return await readWhole(this.#mismatches.find(filter, options));
    });
    const shown = found.slice(0, limit);
    const last = shown.at(-1);
    return {
      mismatches: shown.map((one) =>
        viewIn(storedDocument(this.#mismatches, one).field('mismatch')),
      ),
      next: found.length > limit && last ? last._id.slice(prefix.length) : null,
    };
  }

  /** How many differences a pass has found, and how long the oldest of them has lasted. */
  async numbers(pass: PassKey): Promise<Pick<PassResult, 'mismatches' | 'longestMs'>> {
    const { signal } = this.#store;
    const pipeline = [
      { $match: range(pass) },
      { $group: { _id: null, mismatches: { $sum: 1 }, longestMs: { $max: '$durationMs' } } },
    ];
    const [row] = await onStore(this.#store, async () => {
      return await readWhole(this.#mismatches.aggregate(pipeline, { signal }));
    });
    if (!row) return { mismatches: 0, longestMs: 0 };
    const counted = storedDocument(this.#mismatches, row);
    return {
      mismatches: counted.field('mismatches').count(),
      longestMs: counted.field('longestMs').count(),
    };
  }

  async counts(pass: PassKey): Promise<MismatchCounts> {
    return await this.#count(range(pass), maxNamespaces);
  }

  async #count(filter: Document, maxCounted: number): Promise<MismatchCounts> {
    const { signal } = this.#store;
    const pair = { kind: '$mismatch.kind', namespace: '$mismatch.namespace' };
    const by = (field: keyof typeof pair): Document => {
      return { $group: { _id: `$_id.${field}`, count: { $sum: '$count' } } };
    };
    const pipeline = [
      { $match: filter },
      { $group: { _id: pair, count: { $sum: 1 } } },
      {
        $facet: {
          kinds: [by('kind'), { $sort: { _id: 1 } }],
          namespaces: [by('namespace'), { $sort: { count: -1, _id: 1 } }, { $limit: maxCounted }],
        },
      },
    ];
    const [row] = await onStore(this.#store, async () => {
      return await readWhole(this.#mismatches.aggregate(pipeline, { signal, allowDiskUse: true }));
    });
    const counted = storedDocument(this.#mismatches, row ?? {});
    const [kinds, namespaces] = [counted.field('kinds'), counted.field('namespaces')];
    return {
      kinds: kinds.list().map((one) => {
        return { kind: one.field('_id').oneOf(mismatchKinds), count: one.field('count').count() };
      }),
      namespaces: namespaces.list().map((one) => {
        return { namespace: one.field('_id').text(), count: one.field('count').count() };
      }),
    };
  }

  /** Deletes what earlier passes have found. */
  async forgetBefore({ run, generation }: PassKey): Promise<void> {
    await onStore(this.#store, async () => {
      const pass = { run, generation };
      await this.#mismatches.deleteMany({ _id: { $gte: `${run}:`, $lt: passText(pass) } });
    });
  }

  async forgetRuns(living: LivingRuns): Promise<void> {
    await forgetEndedRuns(this.#store, this.#mismatches, living);
  }
}

const viewTexts = [
  ...(['id', 'index', 'field', 'detail'] as const),
  ...(['sourceType', 'destinationType', 'sourceValue', 'destinationValue'] as const),
];

function viewIn(mismatch: CheckedValue): MismatchView {
  const texts = viewTexts.flatMap((name) => {
    const text = mismatch.optional(name)?.text();
    return text === undefined ? [] : [[name, text]];
  });
  return {
    namespace: mismatch.field('namespace').text(),
    kind: mismatch.field('kind').oneOf(mismatchKinds),
    ...(Object.fromEntries(texts) as Partial<Record<(typeof viewTexts)[number], string>>),
  };
}

function isOfDocument({ kind }: MismatchView): boolean {
  return mismatchForms[kind].aspect === null;
}

function lastingFilter(
  { run, generation }: PassKey,
  { of, minDurationMs, ignoredIndexFields = [] }: MismatchSelection,
): Document {
  const kind: MismatchView['kind'] = 'differentIndex';
  const ignored = { 'mismatch.kind': kind, 'mismatch.field': { $in: [...ignoredIndexFields] } };
  return { run, generation, of, durationMs: { $gte: minDurationMs }, $nor: [ignored] };
}

function range(pass: PassKey): Document {
  const prefix = passText(pass);
  return { _id: { $gt: prefix, $lt: `${prefix}\u{10ffff}` } };
}

function passText({ run, generation }: PassKey): string {
  return `${run}:${String(generation).padStart(8, '0')}:`;
}

/** In the order of namespaces. */
function keyOf(pass: PassKey, { view, subject }: Mismatch): string {
  const hash = createHash('sha256').update(subject).digest('hex');
  return `${passText(pass)}${view.namespace}:${hash.slice(0, 32)}`;
}
