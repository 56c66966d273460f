import { BSON, type Document } from 'mongodb';
import { listIndexes } from '../../mongo/catalog.ts';
import { runCommand } from '../../mongo/run-command.ts';
import type { RawDocument } from '../../mongo/raw-bson.ts';
import type { IndexSpec } from '../../mongo/specification.ts';
import { sourceCollection, type NamespacePair } from './namespace-pairs.ts';
import type { SideName, Sides } from '../../mongo/sides.ts';
import type { Side } from './sides.ts';

/** Whether a document that one side lacks is excused. */
export type Excuse = (document: RawDocument, lackedBy: SideName) => boolean;

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
 * @param clocks - of the sides, in milliseconds since 1970. What the source lacks, it has deleted by its own; what the destination lacks
 * may have been deleted there, or on the source, and the deletion replicated.
 */
export function expiryExcuse(rules: readonly ExpiryRule[], clocks: Sides<() => number>): Excuse {
  const { source, destination } = clocks;
  const nowOf: Sides<() => number> = {
    source,
    destination: () => Math.max(source(), destination()),
  };
  return (bytes, lackedBy) => {
    const document = BSON.deserialize(bytes, { validation: { utf8: false } });
    const latestMs = nowOf[lackedBy]() + clockSkewMs;
    return rules.some(({ path, afterMs }) =>
      datesAt(document, path).some((date) => date.getTime() + afterMs <= latestMs),
    );
  };
}

/**
 * The clocks of both sides, by which they delete what has expired. That of this machine does not matter: if it were ahead, documents that
 * were lost would count as expired. Of a sharded cluster, that of its router counts.
 */
export async function clocksOf(
  sides: Sides<Pick<Side, 'cluster'>>,
  signal: AbortSignal,
): Promise<Sides<() => number>> {
  const clockOf = async ({ cluster }: Pick<Side, 'cluster'>): Promise<() => number> => {
    const offsetMs = await offsetOf(async () => {
      const hello = await runCommand(cluster.admin, { hello: 1 }, { signal });
      return hello.field('localTime').date().getTime();
    });
    return () => performance.now() + offsetMs;
  };
  const [source, destination] = await Promise.all([
    clockOf(sides.source),
    clockOf(sides.destination),
  ]);
  return { source, destination };
}

/** An answer that takes longer tells too little. */
const promptMs = 1_000;
const maxQuestions = 3;

/**
 * How far a clock is ahead of this process's steady one, at least: an answer was given before it arrives.
 * @param ask - reads that clock.
 */
export async function offsetOf(
  ask: () => Promise<number>,
  now: () => number = () => performance.now(),
): Promise<number> {
  let offsetMs = -Infinity;
  for (let question = 0; question < maxQuestions; question++) {
    const askedMs = now();
    const theirMs = await ask();
    const answeredMs = now();
    offsetMs = Math.max(offsetMs, theirMs - answeredMs);
    if (answeredMs - askedMs <= promptMs) break;
  }
  return offsetMs;
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
