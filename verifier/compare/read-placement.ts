import type { Document } from 'mongodb';
import { readConfig } from '../../mongo/config-database.ts';
import { namespaceText, type Namespace } from '../../mongo/namespace.ts';
import { RawValue } from '../../mongo/raw-value.ts';
import type { Side } from './comparison.ts';
import type { Placement, ZoneRange } from './placement.ts';

/**
 * How a sharded cluster places a collection, as its config database has it: the role `clusterMonitor` is enough to read
 * that.
 */
export async function readPlacement(
  side: Side,
  namespace: Namespace,
  signal: AbortSignal,
): Promise<Placement> {
  const ns = namespaceText(namespace);
  const [row] = await readConfig(
    side.cluster,
    { find: 'collections', filter: { _id: ns } },
    signal,
  );
  // Newer servers note there also collections that are not sharded.
  const key: unknown = row?.['unsplittable'] === true ? undefined : row?.['key'];
  if (!(key instanceof RawValue)) {
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
    shardKey: key,
    zoneRanges: tags.flatMap(zoneRange),
    zones: new Set(zones.map(({ _id }) => String(_id))),
  };
}

function zoneRange({ tag, min, max }: Document): ZoneRange[] {
  const isRange = min instanceof RawValue && max instanceof RawValue;
  return isRange ? [{ zone: String(tag), min, max }] : [];
}
