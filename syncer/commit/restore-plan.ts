import { isDeepStrictEqual } from 'node:util';
import type { Document } from 'mongodb';
import type { IndexSpec } from '../../mongo/specification.ts';
import { isIdIndex, isTrue } from '../../mongo/replicated-form.ts';

/** One step that gives an index of the destination its true characteristics. `change` is the `index` of a collMod. */
export type IndexStep =
  | { readonly kind: 'prepareUnique'; readonly name: string }
  | { readonly kind: 'convertToUnique'; readonly name: string }
  | { readonly kind: 'modify'; readonly name: string; readonly change: Document }
  | { readonly kind: 'build'; readonly spec: IndexSpec };

/**
 * The steps from the indexes on the destination to the true ones of the source. Steps that are done are left out, so that a
 * restarted commit continues where it was.
 * @param trueIndexes - the indexes of the source.
 * @param present - the indexes of the destination.
 */
export function planIndexes(
  trueIndexes: readonly IndexSpec[],
  present: readonly IndexSpec[],
): IndexStep[] {
  const presentByName = new Map(present.map((spec) => [spec.name, spec]));
  const steps = trueIndexes
    .filter((spec) => !isIdIndex(spec))
    .flatMap((wanted) => stepsOf(wanted, presentByName.get(wanted.name)));
  return buildsLast(steps);
}

/** An index can exist beside another on the same keys only once one of the two is unique. */
function buildsLast(steps: readonly IndexStep[]): IndexStep[] {
  const isBuilt = (step: IndexStep): boolean => step.kind === 'build';
  return [...steps.filter((step) => !isBuilt(step)), ...steps.filter(isBuilt)];
}

/**
 * The steps from the indexes that each shard of the destination has to the true ones: a step that one shard needs is requested
 * for all.
 */
export function planIndexesOfShards(
  trueIndexes: readonly IndexSpec[],
  shards: Iterable<readonly IndexSpec[]>,
): IndexStep[] {
  const steps = Array.from(shards, (present) => planIndexes(trueIndexes, present)).flat();
  const distinct = steps.filter(
    (step, at) => !steps.slice(0, at).some((earlier) => isDeepStrictEqual(earlier, step)),
  );
  return buildsLast(distinct);
}

function stepsOf(wanted: IndexSpec, present: IndexSpec | undefined): IndexStep[] {
  if (!present) return [{ kind: 'build', spec: wanted }];
  const { name } = wanted;
  const steps: IndexStep[] = [];
  const becomesUnique = isTrue(wanted['unique']) && !isTrue(present['unique']);
  const staysPrepared = isTrue(wanted['prepareUnique']) && !isTrue(wanted['unique']);
  if ((becomesUnique || staysPrepared) && !isTrue(present['prepareUnique']))
    steps.push({ kind: 'prepareUnique', name });
  if (becomesUnique) steps.push({ kind: 'convertToUnique', name });
  if (isTrue(wanted['hidden']) && !isTrue(present['hidden'])) {
    steps.push({ kind: 'modify', name, change: { name, hidden: true } });
  }
  const ttl = wanted['expireAfterSeconds'] as unknown;
  if (ttl !== undefined && Number(ttl) !== Number(present['expireAfterSeconds'])) {
    steps.push({ kind: 'modify', name, change: { name, expireAfterSeconds: ttl } });
  }
  return steps;
}

/** One step that gives a collection of the destination its true options. */
export type OptionsStep =
  | { readonly kind: 'convertToCapped'; readonly size: unknown }
  /** `change` is a collMod. */
  | { readonly kind: 'modify'; readonly change: Document };

/**
 * The steps from the options on the destination to the true ones of the source; none if nothing was altered.
 * @param trueOptions - the options on the source.
 * @param present - the options on the destination.
 */
export function planOptions(trueOptions: Document, present: Document): OptionsStep[] {
  const isCapped = isTrue(trueOptions['capped']);
  const size = trueOptions['size'] as unknown;
  if (isCapped && !isTrue(present['capped'])) {
    const converted = { ...present, capped: true, size };
    return [{ kind: 'convertToCapped', size }, ...planOptions(trueOptions, converted)];
  }
  const change: Record<string, unknown> = {};
  if (isCapped) {
    if (Number(size) !== Number(present['size'])) change['cappedSize'] = size;
    if (Number(trueOptions['max'] ?? 0) !== Number(present['max'] ?? 0))
      change['cappedMax'] = trueOptions['max'] ?? 0;
  }
  const ttl = trueOptions['expireAfterSeconds'] as unknown;
  if (ttl !== undefined && Number(ttl) !== Number(present['expireAfterSeconds']))
    change['expireAfterSeconds'] = ttl;
  if (ttl === undefined && present['expireAfterSeconds'] !== undefined)
    change['expireAfterSeconds'] = 'off';
  return Object.keys(change).length === 0 ? [] : [{ kind: 'modify', change }];
}
