import { Double, Int32, type Document } from 'mongodb';
import type { IndexSpec } from './specification.ts';

/** expireAfterSeconds of every TTL index on the destination during a sync, so that nothing expires there. */
export const maxTtlSeconds = 2_147_483_647;

/** Size in bytes of every capped collection on the destination during a sync, so that nothing falls out there. */
export const maxCappedBytes = 1e15;

/**
 * An index in its form on the destination during a sync: not unique, not hidden, TTL at its largest. Everything else is as on
 * the source. The index on _id, and the one of a clustered collection, are never altered.
 */
export function replicatedIndex(spec: IndexSpec): IndexSpec {
  if (isIdIndex(spec)) return spec;
  const { unique: _unique, prepareUnique: _prepareUnique, hidden: _hidden, ...rest } = spec;
  if (rest['expireAfterSeconds'] === undefined) return rest;
  return { ...rest, expireAfterSeconds: new Int32(maxTtlSeconds) };
}

/**
 * Options of `create` in their form on the destination during a sync: capped size at its largest, and no TTL (of a clustered
 * collection: the server refuses a time to live that goes back beyond 1970). A clustered collection is not capped: the server
 * makes these only by convertToCapped, and refuses to create them (6.0.5). Neither is any temporary: only the server makes such
 * collections, for `$out` and similar stages, and a rename makes them permanent.
 */
export function replicatedOptions(options: Document): Document {
  const {
    capped: _capped,
    size: _size,
    max: _max,
    expireAfterSeconds: _ttl,
    temp: _temp,
    ...rest
  } = options;
  if (!isTrue(options['capped']) || options['clusteredIndex'] !== undefined) return rest;
  return { ...rest, capped: true, size: new Double(maxCappedBytes) };
}

/**
 * True for a collection that the server keeps for one command, such as `$out`, and drops on its own: at the end of the command,
 * which may be a while after its answer if it has failed, or when the server is started again.
 */
export function isKeptForCommand(options: Document): boolean {
  return isTrue(options['temp']);
}

/** True for the index on _id that every collection has. */
export function isIdIndex({ name, key, clustered }: IndexSpec): boolean {
  const [first, ...more] = key.elements();
  return (name === '_id_' || clustered !== undefined) && first?.name === '_id' && more.length === 0;
}

/** True for a boolean option that is set, even if an old client used a number for it. */
export function isTrue(value: unknown): boolean {
  return (
    value === true ||
    (value !== undefined && value !== null && value !== false && Number(value) !== 0)
  );
}
