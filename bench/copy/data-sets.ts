import { ObjectId, type Document, type MongoClient } from 'mongodb';
import { SeededRandom } from '../../e2e/ground/workload/seeded-random.ts';
import { forEachConcurrently } from '../../service/concurrency.ts';

/** The database that is copied. */
export const database = 'bench';

const insertBytes = 4_000_000;
const loaders = 4;

/** What is copied: `collections` with the same content, each with the indexes. */
export interface DataSet {
  readonly name: string;
  readonly collections: number;
  /** Per collection, at SIZE=1. */
  readonly documents: number;
  readonly documentBytes: number;
  /** Keys of the indexes other than the one on `_id`. */
  readonly indexes: readonly Readonly<Record<string, 1 | -1>>[];
}

/** The data sets, named after what makes them hard: secondary indexes, many small documents, large documents. */
export const dataSets: readonly DataSet[] = [
  {
    name: 'indexed',
    collections: 1,
    documents: 1_000_000,
    documentBytes: 1_024,
    indexes: [{ name: 1 }, { number: 1 }, { at: -1, state: 1 }],
  },
  {
    name: 'small',
    collections: 10,
    documents: 100_000,
    documentBytes: 300,
    indexes: [{ number: 1 }],
  },
  { name: 'large', collections: 1, documents: 20_000, documentBytes: 51_200, indexes: [] },
];

/** Names of the collections of a set. */
export function namespacesOf({ collections }: DataSet): string[] {
  return Array.from({ length: collections }, (_, index) => `${database}.c${index}`);
}

/** Documents in each collection. */
export function documentsIn({ documents }: DataSet, size: number): number {
  return Math.ceil(documents * size);
}

/**
 * Replaces the content of the source with a set, acknowledged by a majority. Returns the size of the documents in bytes.
 * @param prepare - called while the source is empty.
 */
export async function loadDataSet(
  source: MongoClient,
  set: DataSet,
  size: number,
  prepare: () => Promise<void> = () => Promise.resolve(),
): Promise<number> {
  const db = source.db(database);
  await db.dropDatabase();
  await prepare();
  const perInsert = Math.max(1, Math.floor(insertBytes / set.documentBytes));
  let bytes = 0;
  const count = documentsIn(set, size);
  const tasks = namespacesOf(set).flatMap((namespace, number) =>
    Array.from({ length: Math.ceil(count / perInsert) }, (_, index) => ({
      collection: db.collection(namespace.slice(database.length + 1)),
      seed: number * 100_003 + index,
      first: index * perInsert,
      last: Math.min(count, (index + 1) * perInsert),
    })),
  );
  await forEachConcurrently(tasks, loaders, async ({ collection, seed, first, last }) => {
    const random = new SeededRandom(seed);
    const documents = Array.from({ length: last - first }, (_, index) =>
      documentOf(set, first + index, random),
    );
    await collection.insertMany(documents, { ordered: false, writeConcern: { w: 'majority' } });
    bytes += documents.length * set.documentBytes;
  });
  if (set.indexes.length > 0) {
    const specs = set.indexes.map((key) => ({ key }));
    for (const namespace of namespacesOf(set))
      await db.collection(namespace.slice(database.length + 1)).createIndexes(specs);
  }
  return bytes;
}

const states = ['new', 'active', 'paused', 'closed'];
const words = 'lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod'.split(' ');

/** About as compressible as ordinary data: words mixed with random text. */
function documentOf(set: DataSet, number: number, random: SeededRandom): Document {
  const head = {
    _id: new ObjectId(),
    number,
    name: `${random.below(1e9).toString(36)} ${random.below(1e9).toString(36)}`,
    at: new Date(1_700_000_000_000 + random.below(1e9)),
    state: random.pick(states),
  };
  const headBytes = 130;
  let text = '';
  // A few random pieces, repeated: generating every byte of a GB would take longer than everything else.
  let piece = '';
  while (piece.length < Math.min(2_000, set.documentBytes - headBytes))
    piece += `${random.chance(0.4) ? random.below(2 ** 31).toString(36) : random.pick(words)} `;
  while (text.length < set.documentBytes - headBytes) text += piece;
  return { ...head, text: text.slice(0, set.documentBytes - headBytes) };
}
