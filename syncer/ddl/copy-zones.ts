import { readConfig } from '../../mongo/config-database.ts';
import { namespaceText, type Namespace } from '../../mongo/namespace.ts';
import { runCommand } from '../../mongo/run-command.ts';
import { checkedWhenSent } from '../../mongo/write-guard.ts';
import type { SyncContext } from '../context/sync-context.ts';

/**
 * Gives a collection of the destination the zone ranges that it has on a sharded source, as far as the destination has shards
 * in zones of these names. To be called before it is sharded: its chunks are placed by them then.
 * @returns whether there are any.
 */
export async function copyZones(
  {
    source,
    sourceShards,
    destination,
    signal,
    requireLease,
  }: Pick<SyncContext, 'source' | 'sourceShards' | 'destination' | 'signal' | 'requireLease'>,
  namespace: Namespace,
): Promise<boolean> {
  if (sourceShards.length === 0) return false;
  const ns = namespaceText(namespace);
  const { shards } = await runCommand(destination.admin, { listShards: 1 }, { signal });
  const zones = new Set(
    (shards as { readonly tags?: string[] }[]).flatMap(({ tags = [] }) => tags),
  );
  const ranges = await readConfig(source, { find: 'tags', filter: { ns } }, signal);
  const mapped = ranges.filter(({ tag }) => zones.has(String(tag)));
  for (const { min, max, tag } of mapped) {
    const command = {
      updateZoneKeyRange: ns,
      min: min as unknown,
      max: max as unknown,
      zone: String(tag),
    };
    await runCommand(destination.admin, checkedWhenSent(command, requireLease), { signal });
  }
  return mapped.length > 0;
}
