import type { RawValue } from '../../mongo/raw-value.ts';
import type { MetadataDifference } from './mismatch.ts';
import { fieldDifference, relaxedText } from './specification-difference.ts';

/** A range of shard key values that is to be on the shards of a zone. */
export interface ZoneRange {
  readonly zone: string;
  readonly min: RawValue;
  readonly max: RawValue;
}

/** How a sharded cluster places the documents of a collection. */
export interface Placement {
  /** Undefined where the collection is not sharded. */
  readonly shardKey: RawValue | undefined;
  readonly zoneRanges: readonly ZoneRange[];
  /** The zones that the cluster has shards in. */
  readonly zones: ReadonlySet<string>;
}

/**
 * How the placement of a collection differs between two sharded clusters: its shard key, and the ranges of those zones that
 * both clusters have shards in. None where one side is a replica set.
 */
export function placementDifferences(
  source: Placement | undefined,
  destination: Placement | undefined,
): MetadataDifference[] {
  if (!source || !destination) return [];
  const shardKey = shardKeyDifference(source.shardKey, destination.shardKey);
  if (shardKey) return [shardKey];
  return zoneDifferences(source, destination);
}

function shardKeyDifference(
  source: RawValue | undefined,
  destination: RawValue | undefined,
): MetadataDifference | undefined {
  if (!source && !destination) return undefined;
  if (!destination) return { kind: 'shardKey', detail: 'sharded on the source alone' };
  if (!source) return { kind: 'shardKey', detail: 'sharded on the destination alone' };
  const difference = fieldDifference({ key: source }, { key: destination });
  return difference && { kind: 'shardKey', ...difference };
}

function zoneDifferences(source: Placement, destination: Placement): MetadataDifference[] {
  const common = [...source.zones].filter((zone) => destination.zones.has(zone));
  return common.sort().flatMap((zone): MetadataDifference[] => {
    const expected = rangesOf(source, zone);
    const actual = rangesOf(destination, zone);
    const isMissing = [...expected].some((range) => !actual.has(range));
    const isExtra = [...actual].some((range) => !expected.has(range));
    if (!isMissing && !isExtra) return [];
    const detail = isMissing ? 'a range missing on the destination' : 'a range not on the source';
    return [{ kind: 'zone', field: zone, detail }];
  });
}

function rangesOf({ zoneRanges }: Placement, name: string): Set<string> {
  const ranges = zoneRanges.filter(({ zone }) => zone === name);
  return new Set(ranges.map(({ min, max }) => `${relaxedText(min)} ${relaxedText(max)}`));
}
