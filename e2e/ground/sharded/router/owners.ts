import type { Document } from 'mongodb';
import { succeeded } from './command-failure.ts';
import { readInside } from './inner-router.ts';
import { splitNamespace, type RouterState } from './router-state.ts';
import { decode, encode } from './wire.ts';

/** A filter on a collection. */
export interface FilterSubject {
  readonly ns: string;
  readonly filter: Document;
  readonly collation?: unknown;
  readonly signal: AbortSignal;
}

/** The shards that the inner router would ask for the documents of a sharded collection. */
export async function ownersOfFilter(
  state: RouterState,
  { ns, filter, collation, signal }: FilterSubject,
): Promise<readonly string[]> {
  const { db, collection } = splitNamespace(ns);
  const explain = {
    explain: { clusterFind: collection, filter, collation },
    verbosity: 'queryPlanner',
    $db: db,
  };
  const answer = succeeded(decode(await readInside(state, encode(explain), signal)));
  const planner = answer['queryPlanner'] as { winningPlan: { shards?: { shardName: string }[] } };
  return (planner.winningPlan.shards ?? []).map(({ shardName }) => shardName);
}
