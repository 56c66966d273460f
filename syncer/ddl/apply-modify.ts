import { type Document, Int32 } from 'mongodb';
import { namespaceText } from '../../mongo/namespace.ts';
import { arrayDocuments } from '../../mongo/raw-bson.ts';
import { RawValue } from '../../mongo/raw-value.ts';
import { isTrue } from '../../mongo/replicated-form.ts';
import { fateOfEvent, fateOfOption, isKnownIndexChange } from '../../mongo/server-features.ts';
import { shardKeyIndexName } from '../../mongo/shard-key.ts';
import { decodeIndexSpec, type IndexSpec } from '../../mongo/specification.ts';
import { SyncError } from '../../service/errors.ts';
import type { Destination } from '../destination/destination.ts';
import type { DestinationKind } from '../destination/destination-kind.ts';
import type { CatalogEvent } from '../source/change-event.ts';
import type { Source } from '../source/source.ts';
import type { TrackedCollection } from '../store/records.ts';
import type { TrackedCatalog } from '../store/tracked-catalog.ts';
import { checkUniqueIndexes } from './shard-collection.ts';

/**
 * Creates indexes of a tracked collection; if it has more than `largeBytes`, while changes are applied.
 * @throws SyncError IncompatibleUniqueIndex; NameNotSupported.
 */
export async function applyCreateIndexes(
  destination: Destination,
  catalog: TrackedCatalog,
  event: CatalogEvent,
  { tracked, largeBytes }: { readonly tracked: TrackedCollection; readonly largeBytes: number },
): Promise<void> {
  const created = indexesOf(event).filter(({ name }) => name !== shardKeyIndexName);
  const shardKey = destination.kind.shardKeyOf(tracked);
  if (shardKey) checkUniqueIndexes(tracked.namespace, created, shardKey);
  const names = new Set(created.map(({ name }) => name));
  // Left indexes of capped collections are built at the commit only.
  const isCapped = isTrue(tracked.options['capped']);
  const bytes = isCapped ? 0 : ((await destination.catalog.sizeOf(tracked.namespace)) ?? 0);
  if (bytes > largeBytes) await destination.indexes.createLater(tracked, created, bytes);
  else await destination.indexes.create(tracked.namespace, created);
  const indexes = [...tracked.indexes.filter(({ name }) => !names.has(name)), ...created];
  await catalog.put({ ...tracked, indexes, specifiedAt: event.time });
}

/** Drops indexes of a tracked collection. */
export async function applyDropIndexes(
  destination: Destination,
  catalog: TrackedCatalog,
  event: CatalogEvent,
  tracked: TrackedCollection,
): Promise<void> {
  const names = droppedIndexes(event);
  // The source's one is from the sync that was reversed: the destination may need its own.
  if (!tracked.indexes.some(({ name }) => name === shardKeyIndexName))
    names.delete(shardKeyIndexName);
  for (const name of names) await destination.sharding.dropIndex(tracked, name);
  const indexes = tracked.indexes.filter(({ name }) => !names.has(name));
  await catalog.put({ ...tracked, indexes, specifiedAt: event.time });
  await destination.leftIndexes.forget(tracked.uuid, [...names]);
}

/** The names of the indexes that a dropIndexes is about. */
function droppedIndexes(event: CatalogEvent): Set<string> {
  return new Set(indexesOf(event).map(({ name }) => name));
}

/**
 * Whether applying a change of a collection disturbs the build of one of its indexes on the destination. A server since 5.2 drops an
 * index while another one is built; it creates one beside others, and joins the build of the same one.
 */
export function disturbsBuild(
  event: CatalogEvent,
  index: string,
  { buildsOnEachShard }: Pick<DestinationKind, 'buildsOnEachShard'>,
): boolean {
  switch (event.operation) {
    case 'createIndexes':
      return false;
    case 'dropIndexes':
      return droppedIndexes(event).has(index);
    case 'modify':
      return Object.keys(modifyOf(event).given).length > 0;
    case 'shardCollection':
      // A replica set has nothing to do for it.
      return buildsOnEachShard;
    default:
      return fateOfEvent(event.operation) !== 'passedOver';
  }
}

function indexesOf({ description, namespace }: CatalogEvent): IndexSpec[] {
  const indexes: unknown = description['indexes'];
  return indexes instanceof RawValue
    ? arrayDocuments({ bytes: indexes.bytes, offset: 0 }).map((bytes) =>
        decodeIndexSpec(bytes, namespace),
      )
    : [];
}

/** What the server makes of a `cappedMax` that is not above 0: no limit. */
const noCappedMax = new Int32(2_147_483_647);

type Values = Readonly<Record<string, unknown>>;

/**
 * Applies a collMod. What is altered on the destination during a sync (uniqueness, TTL, hidden, capped size) changes only the
 * tracked specification, and reaches the destination with the commit; everything else is applied immediately.
 * @throws SyncError IncompatibleUniqueIndex; ChangeNotSupported for one that changes something unknown.
 */
export async function applyModify(
  source: Pick<Source, 'cappedSize' | 'isOptionOfDestination'>,
  destination: Destination,
  catalog: TrackedCatalog,
  event: CatalogEvent,
  tracked: TrackedCollection,
): Promise<void> {
  const { index, cappedSize, cappedMax, expireAfterSeconds, given } = modifyOf(event);
  const indexChange = index instanceof RawValue ? (index.decode() as Values) : undefined;
  const lost = Object.keys(given).filter((option) => !source.isOptionOfDestination(option));
  refuseUnknown(event, [
    ...unknownChanges(given, indexChange),
    ...lost.filter((option) => isTrue(given[option])),
  ]);
  // Off is how the destination has it.
  const rest = Object.fromEntries(
    Object.entries(given).filter(([option]) => !lost.includes(option)),
  );
  if (Object.keys(rest).length > 0) await destination.catalog.modify(tracked.namespace, rest);
  const options = {
    ...tracked.options,
    ...rest,
    ...(cappedSize === undefined ? {} : { size: source.cappedSize(cappedSize) }),
    ...(cappedMax === undefined ? {} : { max: Number(cappedMax) > 0 ? cappedMax : noCappedMax }),
    ...(expireAfterSeconds === undefined ? {} : { expireAfterSeconds }),
  };
  const indexes = indexChange ? modifiedIndexes(tracked.indexes, indexChange) : tracked.indexes;
  const shardKey = destination.kind.shardKeyOf(tracked);
  if (shardKey) checkUniqueIndexes(tracked.namespace, indexes, shardKey);
  await catalog.put({
    ...tracked,
    options: withoutOffTtl(options),
    indexes,
    specifiedAt: event.time,
  });
}

/** The parts of a collMod: `given` are the options that reach the destination during a sync. */
function modifyOf({ description }: CatalogEvent) {
  const { index, cappedSize, cappedMax, expireAfterSeconds, ...given } = description as Values;
  return { index, cappedSize, cappedMax, expireAfterSeconds, given };
}

/**
 * What it is not known how to apply of a collMod.
 * @param rest - its changes of options that are the same on the destination during a sync.
 */
export function unknownChanges(rest: Values, indexChange: Values = {}): string[] {
  const options = Object.keys(rest).filter((option) => fateOfOption(option) !== 'copied');
  const fields = Object.keys(indexChange).filter((field) => !isKnownIndexChange(field));
  return [...options, ...fields.map((field) => `index.${field}`)];
}

function refuseUnknown({ operation, namespace }: CatalogEvent, unknown: readonly string[]): void {
  if (unknown.length === 0) return;
  throw new SyncError(
    'ChangeNotSupported',
    `${operation} of ${namespaceText(namespace)} on the source is not supported with ${unknown.join(', ')}`,
  );
}

/** The indexes after a collMod of one of them, given its `name` and the changes. */
export function modifiedIndexes(indexes: readonly IndexSpec[], change: Values): IndexSpec[] {
  return indexes.map((spec) => (spec.name === change['name'] ? modifiedIndex(spec, change) : spec));
}

function modifiedIndex(spec: IndexSpec, change: Values): IndexSpec {
  const {
    hidden: wasHidden,
    prepareUnique: wasPrepared,
    unique: wasUnique,
    ...rest
  } = spec as IndexSpec & Values;
  const isUnique = isTrue(change['unique'] ?? wasUnique) && !isTrue(change['forceNonUnique']);
  const isHidden = isTrue(change['hidden'] ?? wasHidden);
  const isPrepared = isTrue(change['prepareUnique'] ?? wasPrepared);
  const ttl = change['expireAfterSeconds'];
  return {
    ...rest,
    ...(ttl === undefined ? {} : { expireAfterSeconds: asInt32(ttl) }),
    ...(isUnique ? { unique: true } : {}),
    ...(isHidden ? { hidden: true } : {}),
    // A unique index no longer needs preparation: the server removes the mark.
    ...(isPrepared && !isUnique ? { prepareUnique: true } : {}),
  };
}

function asInt32(value: unknown): unknown {
  const number = Number(value);
  return Number.isInteger(number) && Math.abs(number) < 2 ** 31 ? new Int32(number) : value;
}

/** `expireAfterSeconds: 'off'` removes the TTL from a clustered collection. */
function withoutOffTtl(options: Document): Document {
  const { expireAfterSeconds, ...rest } = options as Values;
  return expireAfterSeconds === undefined || expireAfterSeconds === 'off' ? rest : options;
}
