import { createHash } from 'node:crypto';
import type { AnyBulkWriteOperation, Collection, Document } from 'mongodb';
import type { CheckedValue } from '../../mongo/checked-value.ts';
import { storedDocument } from '../../mongo/stored-document.ts';
import { readWhole } from '../../mongo/whole-reading.ts';
import { inGroupsOf } from '../../service/groups.ts';
import type { MismatchPage, VerificationProgress } from '../../sync-api/json.ts';
import type { Mismatch, MismatchView } from '../compare/mismatch.ts';
import { onStore, type MetadataStore } from './metadata-store.ts';
import type { PassKey } from './records.ts';

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

const mismatchKinds = [
  ...(['missingDocument', 'extraDocument', 'differentDocument', 'fieldOrder'] as const),
  ...(['documentOrder', 'missingNamespace', 'extraNamespace', 'namespaceType'] as const),
  ...(['options', 'missingIndex', 'extraIndex', 'differentIndex', 'shardKey', 'zone'] as const),
] as const satisfies MismatchView['kind'][];

/** How many namespaces are counted by name. */
const maxNamespaces = 10;

/** The differences that passes have found, by namespace. One that is found twice is stored once. */
export class MismatchStore {
  readonly #store: MetadataStore;
  readonly #mismatches: Collection<StoredMismatch>;

  constructor(store: MetadataStore) {
    this.#store = store;
    this.#mismatches = store.db.collection('mismatches');
  }

  async add(pass: PassKey, mismatches: readonly Mismatch[]): Promise<void> {
    for (const group of inGroupsOf(mismatches, batchLength)) {
      const writes = group.map((mismatch): AnyBulkWriteOperation<StoredMismatch> => ({
        replaceOne: {
          filter: { _id: keyOf(pass, mismatch) },
          replacement: { ...pass, mismatch: mismatch.view },
          upsert: true,
        },
      }));
      await onStore(this.#store, async () => {
        await this.#mismatches.bulkWrite(writes, { ordered: false });
      });
    }
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

  async counts(pass: PassKey): Promise<MismatchCounts> {
    const { signal } = this.#store;
    const pair = { kind: '$mismatch.kind', namespace: '$mismatch.namespace' };
    const by = (field: keyof typeof pair): Document => {
      return { $group: { _id: `$_id.${field}`, count: { $sum: '$count' } } };
    };
    const pipeline = [
      { $match: range(pass) },
      { $group: { _id: pair, count: { $sum: 1 } } },
      {
        $facet: {
          kinds: [by('kind'), { $sort: { _id: 1 } }],
          namespaces: [
            by('namespace'),
            { $sort: { count: -1, _id: 1 } },
            { $limit: maxNamespaces },
          ],
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

  async forgetRuns(living: readonly string[]): Promise<void> {
    await onStore(this.#store, async () => {
      await this.#mismatches.deleteMany({ run: { $nin: [...living] } });
    });
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
