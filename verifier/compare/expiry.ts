import { BSON, type Document } from 'mongodb';
import { listIndexes } from '../../mongo/catalog.ts';
import { runCommand } from '../../mongo/run-command.ts';
import type { RawDocument } from '../../mongo/raw-bson.ts';
import type { IndexSpec } from '../../mongo/specification.ts';
import { sourceCollection, type NamespacePair } from './namespace-pairs.ts';
import type { Sides } from '../../mongo/sides.ts';
import type { Side } from './sides.ts';

/** Whether a document that is only on one side is excused. */
export type Excuse = (document: RawDocument) => boolean;

/** How far the clocks of a cluster's members may be apart. */
const clockSkewMs = 5000;

/** When documents expire. */
export interface ExpiryRule {
  readonly path: readonly string[];
  readonly afterMs: number;
}

/** The rules by which documents of a collection expire. TTL indexes with a partial filter are none: they excuse nothing. */
export function expiryRules(options: Document, indexes: readonly IndexSpec[]): ExpiryRule[] {
  const rules: ExpiryRule[] = [];
  for (const index of indexes) {
    const field = index.key.elements()[0]?.name;
    const after: unknown = index['expireAfterSeconds'];
    if (field === undefined || after === undefined) continue;
    if (index['partialFilterExpression'] !== undefined) continue;
    rules.push({ path: field.split('.'), afterMs: Number(after) * 1000 });
  }
  const clustered: unknown = options['expireAfterSeconds'];
  if (clustered !== undefined) rules.push({ path: ['_id'], afterMs: Number(clustered) * 1000 });
  return rules;
}

/**
 * Excuses expired documents: each side deletes them at its own pace, so one may still have what the other has
 * deleted.
 * @param now - a clock in milliseconds since 1970 that is not ahead of those of the servers.
 */
export function expiryExcuse(rules: readonly ExpiryRule[], now: () => number): Excuse {
  return (bytes) => {
    const document = BSON.deserialize(bytes, { validation: { utf8: false } });
    return rules.some(({ path, afterMs }) =>
      datesAt(document, path).some((date) => date.getTime() + afterMs <= now() + clockSkewMs),
    );
  };
}

/**
 * A clock that is not ahead of either side, nor of this machine: with one that is, documents that were lost would count as expired.
 * Of a sharded cluster, that of its router counts.
 */
export async function slowestClock(
  { source, destination }: Sides<Pick<Side, 'cluster'>>,
  signal: AbortSignal,
): Promise<() => number> {
  const offsets = [source, destination].map(async ({ cluster }) => {
    const hello = await runCommand(cluster.admin, { hello: 1 }, { signal });
    return hello.field('localTime').date().getTime() - Date.now();
  });
  const offsetMs = Math.min(0, ...(await Promise.all(offsets)));
  return () => Date.now() + offsetMs;
}

/** The dates at a path, through arrays as in an index. */
function datesAt(value: unknown, path: readonly string[]): Date[] {
  if (Array.isArray(value)) return value.flatMap((item) => datesAt(item, path));
  const [name, ...rest] = path;
  if (name === undefined) return value instanceof Date ? [value] : [];
  if (typeof value !== 'object' || value === null) return [];
  return datesAt((value as Record<string, unknown>)[name], rest);
}

/** True if expired documents are deleted, on either side. */
export async function expires(
  sides: Sides<Side>,
  pair: NamespacePair,
  signal: AbortSignal,
): Promise<boolean> {
  if (sourceCollection(pair)?.options['expireAfterSeconds'] !== undefined) return true;
  for (const { cluster } of [sides.source, sides.destination]) {
    const indexes = (await listIndexes(cluster, pair.namespace, signal)) ?? [];
    if (indexes.some((index) => index['expireAfterSeconds'] !== undefined)) return true;
  }
  return false;
}
