import type { Destination } from '../destination/destination.ts';
import type { Source } from '../source/source.ts';

/**
 * Whether resharding on the source is followed: to a replica set it is only a change of the collection's UUID, if change events
 * report it. Reading the source does not help then: it shows the result before the event.
 */
export async function followsResharding(
  source: Source,
  destination: Destination,
): Promise<boolean> {
  return destination.sharding.shards.length === 0 && (await source.kind.reportsResharding());
}
