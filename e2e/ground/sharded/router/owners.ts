import type { Document } from 'mongodb';
import type { ClusterView } from './cluster-view.ts';
import { errorCodes, succeeded } from './command-failure.ts';
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

/** The shards that a router would ask for the documents of a sharded collection. */
export async function ownersOfFilter(
  state: RouterState,
  subject: FilterSubject,
): Promise<readonly string[]> {
  const { ns, filter, collation, signal } = subject;
  const { db, collection } = splitNamespace(ns);
  const explain = {
    explain: { clusterFind: collection, filter, collation },
    verbosity: 'queryPlanner',
    $db: db,
  };
  const answer = decode(await readInside(state, encode(explain), signal));
  // A mongod 7.0 explains nothing as a router.
  if (answer['code'] === errorCodes.CommandNotSupported) {
    return await ownersByChunks(state.cluster, subject);
  }
  const planner = succeeded(answer)['queryPlanner'] as {
    winningPlan: { shards?: { shardName: string }[] };
  };
  return (planner.winningPlan.shards ?? []).map(({ shardName }) => shardName);
}

/** The shard of the chunk, if the filter has a value for each field of the shard key; all owners otherwise. */
async function ownersByChunks(
  cluster: ClusterView,
  { ns, filter, collation, signal }: FilterSubject,
): Promise<readonly string[]> {
  const { collection, owners } = await cluster.placement(ns, signal);
  const values = collation === undefined ? valuesOf(collection?.key ?? {}, filter) : undefined;
  if (!collection || !values) return [...owners.keys()];
  const key: Record<string, unknown> = {};
  for (const [path, kind] of Object.entries(collection.key)) {
    key[path] = kind === 'hashed' ? await hashOf(cluster, values[path], signal) : values[path];
  }
  const chunk = { uuid: collection.uuid, min: { $lte: key }, max: { $gt: key } };
  const rows = await cluster.find('chunks', chunk, signal);
  return rows.map(({ shard }) => String(shard));
}

function valuesOf(key: Document, filter: Document): Record<string, unknown> | undefined {
  const values: Record<string, unknown> = {};
  for (const path of Object.keys(key)) {
    const value = equalValue(filter[path]);
    if (value === undefined) return undefined;
    values[path] = value;
  }
  return values;
}

function equalValue(given: unknown): unknown {
  if (given?.constructor !== Object) return given;
  const [[operator, value] = [], ...others] = Object.entries(given);
  if (operator?.startsWith('$') !== true) return given;
  return operator === '$eq' && others.length === 0 ? value : undefined;
}

async function hashOf(cluster: ClusterView, value: unknown, signal: AbortSignal): Promise<unknown> {
  const hash = { $toHashedIndexKey: { $literal: value } };
  const pipeline = [{ $documents: [{}] }, { $project: { _id: 0, hash } }];
  const answer = await cluster.run(
    'config',
    { aggregate: 1, pipeline, cursor: {}, $db: 'admin' },
    signal,
  );
  const [row] = (answer['cursor'] as { firstBatch: Document[] }).firstBatch;
  return row?.['hash'];
}
