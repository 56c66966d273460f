import type { Destination } from '../destination/destination.ts';
import type { Source } from '../source/source.ts';

/**
 * Whether resharding on the source is followed: to a replica set it is a change of the collection's UUID alone, if change events
 * report it. Looks at the source are no use then: it shows the result before the event.
 */
export async function followsResharding(
  source: Source,
  destination: Destination,
): Promise<boolean> {
  return destination.sharding.shards.length === 0 && (await source.kind.reportsResharding());
}
