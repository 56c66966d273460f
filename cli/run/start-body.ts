import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import type { NamespaceFilterEntry } from '../../mongo/namespace-filter.ts';
import { namespaceFrom } from '../../mongo/namespace.ts';
import { messageOf, SyncError } from '../../service/errors.ts';
import type { StartBody } from '../../sync-api/json.ts';
import type { RunOptions } from './options.ts';

/** The start that the options ask for: the syncer checks what is in it. @throws SyncError InvalidOption, naming the option. */
export async function startBodyOf(options: RunOptions): Promise<StartBody> {
  const { includeNamespaces, excludeNamespaces, shardingFile } = options;
  return {
    source: 'cluster0',
    destination: 'cluster1',
    // One of the choices of the option.
    buildIndexes: options.buildIndexes as NonNullable<StartBody['buildIndexes']>,
    enableUserWriteBlocking: options.enableUserWriteBlocking,
    reversible: options.reversible,
    ...(includeNamespaces === undefined
      ? {}
      : { includeNamespaces: parseNamespaces('include-namespaces', includeNamespaces) }),
    ...(excludeNamespaces === undefined
      ? {}
      : { excludeNamespaces: parseNamespaces('exclude-namespaces', excludeNamespaces) }),
    ...(shardingFile === undefined ? {} : { sharding: await readSharding(shardingFile) }),
  };
}

/**
 * A filter from its text: JSON where it begins with a bracket, otherwise databases and collections separated by commas.
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
        `--${option}: databases and collections separated by commas are expected, as in shop,depot.orders`,
      );
    const isKnown = entries.has(db);
    const known = entries.get(db);
    const isWhole = coll === undefined || (isKnown && known === undefined);
    entries.set(db, isWhole ? undefined : [...(known ?? []), coll]);
  }
  return Array.from(entries, ([database, collections]) =>
    collections ? { database, collections } : { database },
  );
}

async function readSharding(path: string): Promise<NonNullable<StartBody['sharding']>> {
  try {
    const parsed: unknown = parse(await readFile(path, 'utf8'));
    if (typeof parsed !== 'object' || parsed === null) throw new Error('it holds no mapping');
    // The file may be that of a ClusterSync's spec.
    return ('sharding' in parsed ? parsed.sharding : parsed) as NonNullable<StartBody['sharding']>;
  } catch (error) {
    throw new SyncError(
      'InvalidOption',
      `--sharding-file: ${path} cannot be read: ${messageOf(error)}`,
      { cause: error },
    );
  }
}
