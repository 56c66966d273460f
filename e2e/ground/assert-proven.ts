import assert from 'node:assert/strict';
import { MongoClient, type CollectionInfo } from 'mongodb';

/** Documents of all user collections, by a count of the tests' own, and whether some of them expire. */
interface UserDocuments {
  readonly documents: number;
  readonly isExpiring: boolean;
}

/**
 * Asserts that a verification of two whole clusters, which nobody has written to since, has read and counted each of their
 * documents: that it found no difference proves nothing by itself.
 * @param proof - `progress.proof` of a verifier, or the same in a status or a report.
 */
export async function assertProven(
  proof: unknown,
  sourceUri: string,
  destinationUri: string,
): Promise<void> {
  assert.ok(typeof proof === 'object' && proof !== null, 'a verdict without a proof');
  const { documentsCounted } = proof as { readonly documentsCounted: Record<string, number> };
  for (const [side, uri] of [
    ['source', sourceUri],
    ['destination', destinationUri],
  ] as const) {
    const { documents, isExpiring } = await countUserDocuments(uri);
    const counted = documentsCounted[side];
    // Some may have expired in the meantime.
    if (isExpiring) assert.ok(Number(counted) >= documents, `${side}: ${counted} of ${documents}`);
    else assert.equal(counted, documents, `documents of the ${side}`);
  }
}

/** Needs only the privilege to read: users of verifiers may have no other. */
async function countUserDocuments(uri: string): Promise<UserDocuments> {
  await using client = new MongoClient(uri);
  const { databases } = await client.db('admin').admin().listDatabases({ nameOnly: true });
  let documents = 0;
  let isExpiring = false;
  for (const { name } of databases) {
    if (isInternalDatabase(name)) continue;
    const db = client.db(name);
    const collections = await db.listCollections<CollectionInfo>({ type: 'collection' }).toArray();
    for (const { name: collection, options } of collections) {
      if (collection.startsWith('system.') || options?.['temp'] === true) continue;
      documents += await db.collection(collection).countDocuments();
      const indexes = (await db.collection(collection).listIndexes().toArray()) as object[];
      isExpiring ||= [{ ...options }, ...indexes].some((each) => 'expireAfterSeconds' in each);
    }
  }
  return { documents, isExpiring };
}

function isInternalDatabase(name: string): boolean {
  return ['admin', 'local', 'config'].includes(name) || name.startsWith('clustersync_');
}
