import type { CollectionInfo } from '../../mongo/catalog.ts';
import { readConfig, readShardKeys } from '../../mongo/config-database.ts';
import { namespaceText } from '../../mongo/namespace.ts';
import type { ShardKey } from '../../mongo/shard-key.ts';
import { durationText } from '../../service/quantities.ts';
import { keyText } from '../ddl/shard-collection.ts';
import { duplicateIdsError, findDuplicateIds } from '../source/duplicate-ids.ts';
import { mayBeOnAnyShard } from '../store/records.ts';
import { firstOf, textsOf, type CheckSubject } from './check-subject.ts';
import { note, type Finding } from './finding.ts';

/** How long to search for duplicate ids: a client waits for the answer. A start has no limit. */
const searchSeconds = 120;

/** A collection that is sharded on the source. */
interface Sharded {
  readonly info: CollectionInfo;
  readonly key: ShardKey;
}

/** What a sharded source has that a replica set cannot have: shard keys, zones, several documents with the same `_id`. */
export async function adviseOnMerging(subject: CheckSubject): Promise<Finding[]> {
  const sharded = await shardedCollections(subject);
  if (sharded.length === 0) return [];
  const findings: Finding[] = [];
  const keys = sharded.map(({ info, key }) => `${namespaceText(info.namespace)} ${keyText(key)}`);
  const namespaces = textsOf(sharded.map(({ info }) => info));
  const where = { side: 'source', namespaces } as const;
  const message = `the destination is a replica set, where these are not sharded: ${firstOf(keys)}`;
  findings.push(note('ShardKeysLeftOut', message, where));
  findings.push(...(await zonesLeftOut(subject, namespaces)));
  const apart = textsOf(sharded.filter(mayHaveDuplicateIds).map(({ info }) => info));
  if (apart.length > 0 && !subject.options.detectDuplicateIds)
    findings.push(
      note(
        'DuplicateIdsPossible',
        `the shard key does not keep ids unique over all shards: ${firstOf(apart)}`,
        { side: 'source', namespaces: apart },
      ),
    );
  return findings;
}

/** Searches for documents with the same `_id` on several shards, if the options ask for that. */
export async function checkDuplicateIds(subject: CheckSubject): Promise<Finding[]> {
  const { options, source, signal } = subject;
  if (!options.detectDuplicateIds) return [];
  const findings: Finding[] = [];
  const limit = AbortSignal.timeout(searchSeconds * 1_000);
  for (const { info } of (await shardedCollections(subject)).filter(mayHaveDuplicateIds)) {
    const name = namespaceText(info.namespace);
    const where = { side: 'source', namespaces: [name] } as const;
    try {
      const ids = await findDuplicateIds(source.cluster, info, AbortSignal.any([signal, limit]));
      if (ids.length === 0) continue;
      const { message } = duplicateIdsError(info.namespace, ids);
      findings.push(note('DuplicateIdsFound', message, where));
    } catch (error) {
      signal.throwIfAborted();
      if (!limit.aborted) throw error;
      const message = `duplicate ids in ${name} and what comes after it: the search did not end within ${durationText(searchSeconds)}; a start searches to the end`;
      findings.push(note('NotChecked', message, where));
      break;
    }
  }
  return findings;
}

/** The selected collections that are sharded on the source; none unless the destination is a replica set. */
async function shardedCollections(subject: CheckSubject): Promise<Sharded[]> {
  const { source, destination, signal } = subject;
  if (source.topology.kind !== 'sharded' || destination.topology.kind !== 'replicaSet') return [];
  const keys = await readShardKeys(source.cluster, signal);
  const sharded = (await subject.collections()).flatMap((info) => {
    const key = keys.get(info.uuid.toHexString(false))?.key;
    return key ? [{ info, key }] : [];
  });
  const nameOf = ({ info }: Sharded): string => namespaceText(info.namespace);
  return sharded.sort((left, right) => (nameOf(left) < nameOf(right) ? -1 : 1));
}

function mayHaveDuplicateIds({ info, key }: Sharded): boolean {
  return mayBeOnAnyShard({ shardKey: key, options: info.options });
}

async function zonesLeftOut(
  { source, signal }: CheckSubject,
  namespaces: readonly string[],
): Promise<Finding[]> {
  const find = { find: 'tags', filter: { ns: { $in: namespaces } } };
  const ranges = await readConfig(source.cluster, find, signal);
  if (ranges.length === 0) return [];
  const zones = [...new Set(ranges.map((range) => range.field('tag').text()))].sort();
  const zoned = [...new Set(ranges.map((range) => range.field('ns').text()))].sort();
  const message = `the destination is a replica set, which has no zones: ${firstOf(zones)}, of ${firstOf(zoned)}`;
  return [note('ZonesLeftOut', message, { side: 'source', namespaces: zoned })];
}
