import type { Document } from 'mongodb';
import { listIndexes, type NamespaceInfo } from '../../mongo/catalog.ts';
import type { ClusterClient } from '../../mongo/cluster-client.ts';
import { isSameNamespace, namespaceText } from '../../mongo/namespace.ts';
import { isTrue } from '../../mongo/replicated-form.ts';
import { runCommand } from '../../mongo/run-command.ts';
import { supportsShardKey, type ShardKey } from '../../mongo/shard-key.ts';
import type { IndexSpec } from '../../mongo/specification.ts';
import { SyncError } from '../../service/errors.ts';
import { checkUniqueIndexes, keyText } from '../ddl/shard-collection.ts';
import {
  namespaceOf,
  shardKeyOf,
  type ShardingEntry,
  type ShardingOptions,
} from '../options/command-bodies.ts';
import type { CheckSubject } from './check-subject.ts';
import { blocker, note, type Blocker, type Finding } from './finding.ts';

/** How many indexes a collection can have (all versions). */
const maxIndexes = 64;

/** The search for documents with arrays in a shard key may read the whole collection: the server gives up before this time. */
const searchDeadlineMs = 4_000;

/** A collection to shard on the destination, as it is on the source. */
interface ToShard {
  readonly entry: ShardingEntry;
  readonly key: ShardKey;
  readonly info: NamespaceInfo;
}

/**
 * Compares the collections to shard on the destination with those on the source (contract 4.1, rules 5 and 6). Skips those that
 * do not exist yet.
 * @returns blockers InvalidShardKey, IncompatibleUniqueIndex and ShardKeyIndexMissing, in the order of the entries.
 */
export async function checkSharding(subject: CheckSubject): Promise<Blocker[]> {
  const findings: Blocker[] = [];
  for (const each of await collectionsToShard(subject)) {
    const errors = await shardingErrors(subject, each);
    const where = { side: 'source', namespaces: [namespaceText(each.info.namespace)] } as const;
    findings.push(...errors.map((error) => blocker(error, where)));
  }
  return findings;
}

/** Looks for what would stop the sharding of collections in the course of a sync. */
export async function adviseOnSharding(subject: CheckSubject): Promise<Finding[]> {
  const findings: Finding[] = [];
  const { cluster } = subject.source;
  for (const { key, info } of await collectionsToShard(subject)) {
    if (info.kind !== 'collection') continue;
    const name = namespaceText(info.namespace);
    const where = { side: 'source', namespaces: [name] } as const;
    const indexes = (await listIndexes(cluster, info.namespace, subject.signal)) ?? [];
    if (indexes.length >= maxIndexes && !isSupported(indexes, key))
      findings.push(
        note(
          'TooManyIndexes',
          `${name} has ${indexes.length} indexes, and none that supports the shard key ${keyText(key)}`,
          where,
        ),
      );
    if (await hasArrays(cluster, info, key, subject.signal))
      findings.push(
        note(
          'ShardKeyHasArrays',
          `a document of ${name} has an array in a field of the shard key ${keyText(key)}`,
          where,
        ),
      );
  }
  return findings;
}

async function collectionsToShard({ options, source }: CheckSubject): Promise<ToShard[]> {
  const { shardingEntries = [] }: Partial<ShardingOptions> = options.sharding ?? {};
  if (shardingEntries.length === 0) return [];
  const { selected } = await source.listing();
  return shardingEntries.flatMap((entry) => {
    const namespace = namespaceOf(entry);
    const info = selected.find((each) => isSameNamespace(each.namespace, namespace));
    return info ? [{ entry, key: shardKeyOf(entry), info }] : [];
  });
}

async function shardingErrors(
  { options, source, signal }: CheckSubject,
  { key, info }: ToShard,
): Promise<SyncError[]> {
  const { namespace } = info;
  const name = namespaceText(namespace);
  const what = info.kind !== 'collection' ? info.kind : cappedText(info.options);
  if (what !== undefined)
    return [new SyncError('InvalidShardKey', `${name} is a ${what}, and cannot be sharded`)];
  const indexes = (await listIndexes(source.cluster, namespace, signal)) ?? [];
  const errors: SyncError[] = [];
  try {
    checkUniqueIndexes(namespace, indexes, key);
  } catch (error) {
    if (!(error instanceof SyncError)) throw error;
    errors.push(error);
  }
  const isCreated = options.sharding?.createSupportingIndexes === true;
  if (!isCreated && !isSupported(indexes, key))
    errors.push(
      new SyncError(
        'ShardKeyIndexMissing',
        `${name} has no index that begins with ${keyText(key)}, holds every document, is not hidden, and has the simple collation`,
      ),
    );
  return errors;
}

function isSupported(indexes: readonly IndexSpec[], key: ShardKey): boolean {
  return indexes.some((spec) => supportsShardKey(spec, key));
}

function cappedText(options: Document): string | undefined {
  return isTrue(options['capped']) ? 'capped collection' : undefined;
}

/** Whether a document has an array at a field of a shard key, or on the way to it. */
async function hasArrays(
  { decoded }: ClusterClient,
  { namespace: { db, coll } }: NamespaceInfo,
  key: ShardKey,
  signal: AbortSignal,
): Promise<boolean> {
  const paths = new Set(key.flatMap(({ field }) => pathsTo(field)));
  const filter = { $or: Array.from(paths, (path) => ({ [path]: { $type: 'array' } })) };
  const find = { find: coll, filter, projection: { _id: 1 }, limit: 1, singleBatch: true };
  const answer = await runCommand(decoded.db(db), find, { signal, deadlineMs: searchDeadlineMs });
  return answer.field('cursor').field('firstBatch').list().length > 0;
}

/** `a.b.c` as `a`, `a.b` and `a.b.c`. */
function pathsTo(field: string): string[] {
  const parts = field.split('.');
  return parts.map((_, index) => parts.slice(0, index + 1).join('.'));
}
