import { Double, Int32, type Document } from 'mongodb';
import { isIdIndex, isTrue, maxCappedBytes, maxTtlSeconds } from '../../mongo/replicated-form.ts';
import type { IndexSpec } from '../../mongo/specification.ts';

/** A change of one index: the `index` of a collMod. */
export type IndexChange = Document & { readonly name: string };

/**
 * The changes that give indexes with their true characteristics the replicated form (see replicatedIndex). Those that
 * have it already need none, so that this may be repeated.
 */
export function looseningOfIndexes(present: readonly IndexSpec[]): IndexChange[] {
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

/** The collMod that gives a collection with its true options the replicated form; undefined where it has it already. */
export function looseningOfOptions(present: Document): Document | undefined {
  const isSized = isTrue(present['capped']) && Number(present['size']) !== maxCappedBytes;
  const change = {
    ...(isSized ? { cappedSize: new Double(maxCappedBytes) } : {}),
    ...(isSized && present['max'] !== undefined ? { cappedMax: new Int32(0) } : {}),
    ...(present['expireAfterSeconds'] === undefined ? {} : { expireAfterSeconds: 'off' }),
  };
  return Object.keys(change).length === 0 ? undefined : change;
}
