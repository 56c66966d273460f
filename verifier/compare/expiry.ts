import { BSON, type Document } from 'mongodb';
import { listIndexes } from '../../mongo/catalog.ts';
import type { RawDocument } from '../../mongo/raw-bson.ts';
import type { IndexSpec } from '../../mongo/specification.ts';
import { sourceCollection, type NamespacePair } from './namespace-pairs.ts';
import type { Sides } from '../../mongo/sides.ts';
import type { Side } from './sides.ts';

/** Whether a document that is only on one side is excused. */
export type Excuse = (document: RawDocument) => boolean;

/** Maximum skew between the clocks of the servers and of this machine. */
const clockSkewMs = 5000;

interface ExpiryRule {
  readonly path: readonly string[];
  readonly afterMs: number;
}

/**
 * Excuses expired documents: each side deletes them at its own pace, so one may still have what the other has
 * deleted. Undefined if nothing expires. TTL indexes with a partial filter excuse nothing.
 */
export function expiryExcuse(
  options: Document,
  indexes: readonly IndexSpec[],
  now: () => number = Date.now,
): Excuse | undefined {
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
  if (rules.length === 0) return undefined;
  return (bytes) => {
    const document = BSON.deserialize(bytes, { validation: { utf8: false } });
    return rules.some(({ path, afterMs }) =>
      datesAt(document, path).some((date) => date.getTime() + afterMs <= now() + clockSkewMs),
    );
  };
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
