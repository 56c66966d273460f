import { isRefused } from '../../mongo/server-errors.ts';
import { forEachConcurrently } from '../../service/concurrency.ts';
import type { Destination } from '../destination/destination.ts';
import type { TrackedCollection } from '../store/records.ts';
import { Double, Int32, type Document } from 'mongodb';
import { isIdIndex, isTrue, maxCappedBytes, maxTtlSeconds } from '../../mongo/replicated-form.ts';
import type { IndexSpec } from '../../mongo/specification.ts';

/**
 * Gives the replicated form to every tracked collection of a destination that has its true characteristics, because it was the
 * source before. May be repeated from any point.
 */
export async function replicateForms(
  destination: Destination,
  collections: readonly TrackedCollection[],
  workers: number,
): Promise<void> {
  await forEachConcurrently(collections, workers, async (collection) => {
    await destination.step('reverse', async () => {
      await replicateForm(destination, collection);
    });
  });
}

/** Gives the replicated form to one collection. May be repeated from any point. */
export async function replicateForm(
  destination: Destination,
  collection: TrackedCollection,
): Promise<void> {
  const { namespace } = collection;
  const { catalog } = destination;
  for (const change of indexChanges(await catalog.indexesOf(namespace))) {
    try {
      await catalog.modify(namespace, { index: change });
    } catch (error) {
      await dropInstead(destination, collection, change, error);
    }
  }
  const info = await catalog.collectionAt(namespace);
  const change = optionsChange(info?.options ?? {});
  if (change) await catalog.modify(namespace, change);
}

/** Drops an index that the server does not change: the commit builds it again. */
async function dropInstead(
  { indexes, sharding }: Destination,
  collection: TrackedCollection,
  { name }: IndexChange,
  error: unknown,
): Promise<void> {
  if (!isRefused(error)) throw error;
  await indexes.leave(collection.namespace, name, error);
  await sharding.dropIndex(collection, name);
}

/** A change of one index: the `index` of a collMod. */
export type IndexChange = Document & { readonly name: string };

/**
 * The changes that give indexes with their true characteristics the replicated form (see replicatedIndex). Indexes that already
 * have it need none, so this may be repeated.
 */
export function indexChanges(present: readonly IndexSpec[]): IndexChange[] {
  return present.filter((spec) => !isIdIndex(spec)).flatMap(changesOf);
}

function changesOf(spec: IndexSpec): IndexChange[] {
  const { name } = spec;
  const ttl = spec['expireAfterSeconds'] as unknown;
  return [
    ...(isTrue(spec['unique']) ? [{ name, forceNonUnique: true }] : []),
    ...(isTrue(spec['prepareUnique']) ? [{ name, prepareUnique: false }] : []),
    ...(isTrue(spec['hidden']) ? [{ name, hidden: false }] : []),
    ...(ttl === undefined || Number(ttl) === maxTtlSeconds
      ? []
      : [{ name, expireAfterSeconds: new Int32(maxTtlSeconds) }]),
  ];
}

/** The collMod that gives a collection with its true options the replicated form; undefined if it already has it. */
export function optionsChange(present: Document): Document | undefined {
  const isSized = isTrue(present['capped']) && Number(present['size']) !== maxCappedBytes;
  const change = {
    ...(isSized ? { cappedSize: new Double(maxCappedBytes) } : {}),
    ...(isSized && present['max'] !== undefined ? { cappedMax: new Int32(0) } : {}),
    ...(present['expireAfterSeconds'] === undefined ? {} : { expireAfterSeconds: 'off' }),
  };
  return Object.keys(change).length === 0 ? undefined : change;
}
