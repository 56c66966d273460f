import { readConfig } from '../../mongo/config-database.ts';
import { runCommand } from '../../mongo/run-command.ts';
import { shardsIn } from '../../mongo/topology.ts';
import { firstOf, textsOf, type CheckSubject } from './check-subject.ts';
import { note, type Finding } from './finding.ts';

/** Zones of the source that the destination has no shard in: the sync creates collections without them there. */
export async function checkZones({
  source,
  destination,
  signal,
}: CheckSubject): Promise<Finding[]> {
  const sides = [source, destination];
  if (sides.some(({ topology }) => topology.kind !== 'sharded')) return [];
  const synced = new Set(textsOf((await source.listing()).selected));
  const ranges = await readConfig(source.cluster, { find: 'tags' }, signal);
  const wanted = new Map<string, Set<string>>();
  for (const range of ranges) {
    const [namespace, zone] = [range.field('ns').text(), range.field('tag').text()];
    if (synced.has(namespace)) wanted.set(zone, (wanted.get(zone) ?? new Set()).add(namespace));
  }
  if (wanted.size === 0) return [];
  const shards = await runCommand(destination.cluster.admin, { listShards: 1 }, { signal });
  const there = new Set(
    shardsIn(shards).flatMap((shard) =>
      (shard.optional('tags')?.list() ?? []).map((tag) => tag.text()),
    ),
  );
  return [...wanted]
    .filter(([zone]) => !there.has(zone))
    .map(([zone, names]) => {
      const namespaces = [...names].sort();
      const message = `no shard of the destination is in the zone ${zone}, which has ranges of ${firstOf(namespaces)}`;
      return note('ZoneWithoutShard', message, { side: 'destination', namespaces });
    });
}
