import assert from 'node:assert/strict';
import { MongoClient } from 'mongodb';
import { readCatalog } from './catalog.ts';

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
    // Some may have expired since.
    if (isExpiring) assert.ok(Number(counted) >= documents, `${side}: ${counted} of ${documents}`);
    else assert.equal(counted, documents, `documents of the ${side}`);
  }
}

async function countUserDocuments(uri: string): Promise<UserDocuments> {
  await using client = new MongoClient(uri);
  let documents = 0;
  let isExpiring = false;
  for (const entry of (await readCatalog(client, [])).values()) {
    const { database, collection, type, options, indexes } = entry;
    if (type !== 'collection') continue;
    documents += await client.db(database).collection(collection).countDocuments();
    isExpiring ||= JSON.stringify([options, ...indexes.values()]).includes('expireAfterSeconds');
  }
  return { documents, isExpiring };
}
