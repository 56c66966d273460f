import type { CheckedValue } from '../../mongo/checked-value.ts';
import { listIndexes, type NamespaceInfo } from '../../mongo/catalog.ts';
import { readConfig, shardedOnly } from '../../mongo/config-database.ts';
import { namespaceText, type Namespace } from '../../mongo/namespace.ts';
import { readShardIndexes } from '../../mongo/shard-indexes.ts';
import {
  metadataDifferences,
  type MetadataRules,
  type NamespaceState,
  type Placement,
  type ZoneRange,
} from './metadata-difference.ts';
import type { MetadataDifference } from './mismatch.ts';
import type { NamespacePair } from './namespace-pairs.ts';
import type { Sides } from '../../mongo/sides.ts';
import type { Side } from './sides.ts';

/** The differences between the two sides of a namespace, except in its documents. */
export async function compareMetadata(
  { source, destination }: Sides<Side>,
  pair: NamespacePair,
  rules: MetadataRules,
  signal: AbortSignal,
): Promise<MetadataDifference[]> {
  const [expected, actual] = await Promise.all([
    readState(source, pair.source, signal),
    readState(destination, pair.destination, signal),
  ]);
  return metadataDifferences(expected, actual, rules);
}

async function readState(
  side: Side,
  info: NamespaceInfo | undefined,
  signal: AbortSignal,
): Promise<NamespaceState | undefined> {
  if (!info) return undefined;
  if (info.kind !== 'collection') return { info, indexes: [], placement: undefined };
  const { namespace } = info;
  const indexes = (await listIndexes(side.cluster, namespace, signal)) ?? [];
  const placement = side.isSharded ? await readPlacement(side, namespace, signal) : undefined;
  if (!placement?.shardKey) return { info, indexes, placement };
  const shardIndexes = await readShardIndexes(side.cluster, namespace, indexes, signal);
  return { info, indexes, shardIndexes, placement };
}

/**
 * The placement of a collection in a sharded cluster, from its config database: the role `clusterMonitor` is enough to read
 * that.
 */
async function readPlacement(
  side: Side,
  namespace: Namespace,
  signal: AbortSignal,
): Promise<Placement> {
  const ns = namespaceText(namespace);
  const [row] = await readConfig(
    side.cluster,
    { find: 'collections', filter: { _id: ns, ...shardedOnly } },
    signal,
  );
  if (row === undefined) {
    return { shardKey: undefined, zoneRanges: [], zones: new Set() };
  }
  const tags = await readConfig(side.cluster, { find: 'tags', filter: { ns } }, signal);
  const pipeline = [{ $unwind: '$tags' }, { $group: { _id: '$tags' } }];
  const zones = await readConfig(
    side.cluster,
    { aggregate: 'shards', pipeline, cursor: {} },
    signal,
  );
  return {
    shardKey: row.field('key').raw(),
    zoneRanges: tags.map(zoneRange),
    zones: new Set(zones.map((zone) => zone.field('_id').text())),
  };
}

function zoneRange(row: CheckedValue): ZoneRange {
  const [min, max] = [row.field('min').raw(), row.field('max').raw()];
  return { zone: row.field('tag').text(), min, max };
}
