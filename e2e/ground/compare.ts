import { createHash } from 'node:crypto';
import { BSON, MongoClient, type FindCursor } from 'mongodb';
import { readCatalog, type CatalogEntry } from './catalog.ts';

/** An independent comparison for tests: it shares no code with the product. */

/** Which part of the clusters counts. */
export interface CompareOptions {
  /** Databases (`shop`) and namespaces (`shop.items`) to leave out. */
  readonly exclude?: readonly string[];
  /** Names of additional indexes that the destination may have: of all collections, or of one, as `shop.items name_1`. */
  readonly mayBeExtra?: readonly string[];
}

/** One way in which two clusters differ. */
export interface Difference {
  readonly namespace: string;
  /** In canonical EJSON; absent when it is not about one document. */
  readonly id?: string;
  /** What differs, in words. */
  readonly kind: string;
}

/** The contents of one collection, in short. */
export interface CollectionDigest {
  readonly namespace: string;
  readonly documents: number;
  /** SHA-256 over the bytes of all documents, in the order of `_id`; of a capped collection in their own order. */
  readonly sha256: string;
  readonly indexes: number;
}

/** The comparison stops after this many differences: enough to see what is wrong. */
const maxDifferences = 20;

/**
 * Compares the user databases of two clusters, without those of the server and of clustersync: collections, views, their
 * options and indexes, and every document byte for byte, in the order of `_id` (capped collections: in their own).
 * @throws AssertionError-like Error that lists the first 20 differences
 */
export async function assertEqualClusters(
  sourceUri: string,
  destinationUri: string,
  options: CompareOptions = {},
): Promise<void> {
  const differences = await findDifferences(sourceUri, destinationUri, options);
  if (differences.length === 0) return;
  const lines = differences.map(
    ({ namespace, id, kind }) => `  ${namespace}${id === undefined ? '' : ` _id ${id}`}: ${kind}`,
  );
  const count =
    differences.length < maxDifferences ? differences.length : `${maxDifferences} or more`;
  throw new Error(`the clusters differ, ${count} differences:\n${lines.join('\n')}`);
}

/** The first differences between two clusters, at most 20; none when they are equal. */
export async function findDifferences(
  sourceUri: string,
  destinationUri: string,
  { exclude = [], mayBeExtra = [] }: CompareOptions = {},
): Promise<readonly Difference[]> {
  await using source = new MongoClient(sourceUri);
  await using destination = new MongoClient(destinationUri);
  const there = await readCatalog(source, exclude);
  const here = await readCatalog(destination, exclude);
  const differences: Difference[] = [];
  for (const namespace of [...new Set([...there.keys(), ...here.keys()])].sort()) {
    const expected = there.get(namespace);
    const actual = here.get(namespace);
    if (expected === undefined) {
      differences.push({ namespace, kind: 'not on the source' });
    } else if (actual === undefined) {
      differences.push({ namespace, kind: 'missing on the destination' });
    } else {
      differences.push(...differencesOfCatalog(namespace, expected, actual, mayBeExtra));
      if (expected.type === 'collection' && actual.type === 'collection') {
        const documents = differencesOfDocuments(source, destination, expected, namespace);
        for await (const difference of documents) {
          differences.push(difference);
          if (differences.length >= maxDifferences) break;
        }
      }
    }
    if (differences.length >= maxDifferences) break;
  }
  return differences.slice(0, maxDifferences);
}

/** Counts and hashes every collection of the user databases, in the order of their namespaces. */
export async function countAndHash(
  uri: string,
  { exclude = [] }: CompareOptions = {},
): Promise<readonly CollectionDigest[]> {
  await using client = new MongoClient(uri);
  const digests: CollectionDigest[] = [];
  for (const [namespace, entry] of await readCatalog(client, exclude)) {
    if (entry.type !== 'collection') continue;
    const hash = createHash('sha256');
    let documents = 0;
    for await (const bytes of documentsOf(client, entry)) {
      hash.update(bytes);
      documents += 1;
    }
    digests.push({ namespace, documents, sha256: hash.digest('hex'), indexes: entry.indexes.size });
  }
  return digests;
}

function* differencesOfCatalog(
  namespace: string,
  expected: CatalogEntry,
  actual: CatalogEntry,
  mayBeExtra: readonly string[],
): Generator<Difference> {
  if (expected.type !== actual.type) {
    yield {
      namespace,
      kind: `a ${expected.type} on the source, a ${actual.type} on the destination`,
    };
    return;
  }
  if (expected.options !== actual.options) {
    yield {
      namespace,
      kind: `options ${expected.options} on the source, ${actual.options} on the destination`,
    };
  }
  for (const name of new Set([...expected.indexes.keys(), ...actual.indexes.keys()])) {
    const spec = expected.indexes.get(name);
    const copy = actual.indexes.get(name);
    if (spec === undefined) {
      if (!mayBeExtra.includes(name) && !mayBeExtra.includes(`${namespace} ${name}`))
        yield { namespace, kind: `index ${name} is not on the source` };
    } else if (copy === undefined)
      yield { namespace, kind: `index ${name} is missing on the destination` };
    else if (spec !== copy) {
      yield {
        namespace,
        kind: `index ${name} is ${spec} on the source, ${copy} on the destination`,
      };
    }
  }
}

/** Walks through both collections side by side. Only when something differs, both are read again to say what. */
async function* differencesOfDocuments(
  source: MongoClient,
  destination: MongoClient,
  entry: CatalogEntry,
  namespace: string,
): AsyncGenerator<Difference> {
  if (await areSame(documentsOf(source, entry), documentsOf(destination, entry))) return;
  const expected = await hashesById(documentsOf(source, entry));
  const actual = await hashesById(documentsOf(destination, entry));
  let isExplained = false;
  for (const [id, hash] of expected) {
    const copy = actual.get(id);
    if (copy === hash) continue;
    isExplained = true;
    yield {
      namespace,
      id,
      kind: copy === undefined ? 'missing on the destination' : 'other bytes',
    };
  }
  for (const id of actual.keys()) {
    if (expected.has(id)) continue;
    isExplained = true;
    yield { namespace, id, kind: 'not on the source' };
  }
  if (isExplained) return;
  const what = entry.isCapped ? 'of a capped collection ' : '';
  yield { namespace, kind: `the same documents ${what}in another order` };
}

function documentsOf(client: MongoClient, entry: CatalogEntry): FindCursor<Buffer> {
  return client
    .db(entry.database)
    .collection<Buffer>(entry.collection)
    .find<Buffer>({}, { raw: true, readConcern: { level: 'majority' }, allowDiskUse: true })
    .sort(entry.isCapped ? { $natural: 1 } : { _id: 1 });
}

async function areSame(left: FindCursor<Buffer>, right: FindCursor<Buffer>): Promise<boolean> {
  try {
    for (;;) {
      const [a, b] = await Promise.all([left.next(), right.next()]);
      if (a === null || b === null) return a === b;
      if (!a.equals(b)) return false;
    }
  } finally {
    await Promise.all([left.close(), right.close()]);
  }
}

/** Hash of each document by its `_id` in canonical EJSON, which tells types apart. */
async function hashesById(documents: FindCursor<Buffer>): Promise<ReadonlyMap<string, string>> {
  const hashes = new Map<string, string>();
  for await (const bytes of documents) {
    const { _id } = BSON.deserialize(bytes, {
      promoteValues: false,
      bsonRegExp: true,
      validation: { utf8: false },
    });
    const id = BSON.EJSON.stringify(_id, { relaxed: false });
    hashes.set(id, createHash('sha256').update(bytes).digest('hex'));
  }
  return hashes;
}
