import type { NamespaceFilterEntry } from '../../mongo/namespace-filter.ts';
import { namespaceFrom } from '../../mongo/namespace.ts';
import { messageOf, SyncError } from '../../service/errors.ts';
import { readYamlFile } from '../../service/text-file.ts';
import type { StartBody } from '../../sync-api/json.ts';
import type { RunOptions } from './options.ts';

/** The start body for the options: the syncer validates its content. @throws SyncError InvalidOption, naming the option. */
export function startBodyOf(options: Omit<RunOptions, 'output'>): StartBody {
  const { includeNamespaces, excludeNamespaces, shardingFile } = options;
  return {
    source: 'cluster0',
    destination: 'cluster1',
    // One of the choices of the option.
    buildIndexes: options.buildIndexes,
    enableUserWriteBlocking: options.enableUserWriteBlocking,
    reversible: options.reversible,
    detectDuplicateIds: options.detectDuplicateIds,
    // Left out if absent, so that it is the same sync as one that was started without it.
    ...(options.initialData === 'Present' ? { initialData: 'Present' } : {}),
    ...(includeNamespaces === undefined
      ? {}
      : { includeNamespaces: parseNamespaces('include-namespaces', includeNamespaces) }),
    ...(excludeNamespaces === undefined
      ? {}
      : { excludeNamespaces: parseNamespaces('exclude-namespaces', excludeNamespaces) }),
    ...(shardingFile === undefined ? {} : { sharding: readSharding(shardingFile) }),
  };
}

/**
 * A filter from its text: JSON if it begins with a bracket, otherwise databases and collections separated by commas.
 * Collections of one database become one entry.
 * @throws SyncError InvalidOption, naming the option.
 */
export function parseNamespaces(option: string, text: string): NamespaceFilterEntry[] {
  if (text.trimStart().startsWith('[')) {
    try {
      return JSON.parse(text) as NamespaceFilterEntry[];
    } catch (error) {
      throw new SyncError('InvalidOption', `--${option}: ${messageOf(error)}`, { cause: error });
    }
  }
  const entries = new Map<string, string[] | undefined>();
  for (const part of text.split(',').map((each) => each.trim())) {
    const { db, coll } = part.includes('.') ? namespaceFrom(part) : { db: part, coll: undefined };
    if (db === '' || coll === '')
      throw new SyncError(
        'InvalidOption',
        `--${option}: expected databases and collections separated by commas, such as shop,depot.orders`,
      );
    const known = entries.get(db);
    if (coll === undefined) entries.set(db, undefined);
    else if (known) known.push(coll);
    else if (!entries.has(db)) entries.set(db, [coll]);
  }
  return Array.from(entries, ([database, collections]) =>
    collections ? { database, collections } : { database },
  );
}

function readSharding(path: string): NonNullable<StartBody['sharding']> {
  const option = '--sharding-file';
  const parsed = readYamlFile({ path, option });
  if (typeof parsed !== 'object' || parsed === null)
    throw new SyncError('InvalidOption', `${option}: ${path} cannot be read: it holds no mapping`);
  // The file may be copied from a ClusterSync's spec.
  return ('sharding' in parsed ? parsed.sharding : parsed) as NonNullable<StartBody['sharding']>;
}
