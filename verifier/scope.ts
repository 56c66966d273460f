import { isDeepStrictEqual } from 'node:util';
import type { Document } from 'mongodb';
import { listNamespaces, listUserDatabases } from '../mongo/catalog.ts';
import type { ClusterClient } from '../mongo/cluster-client.ts';
import { syncDatabase, type Namespace } from '../mongo/namespace.ts';
import {
  NamespaceFilter,
  serverMatcher,
  type NamePattern,
  type NamespaceFilterEntry,
} from '../mongo/namespace-filter.ts';
import { codeOf, serverCode } from '../mongo/server-errors.ts';
import { messageOf, SyncError } from '../service/errors.ts';
import type { OfSides, ScopeRecord } from './state/records.ts';

/** What is to be compared, as the options say. */
export interface ScopeOptions {
  readonly verifyAll: boolean;
  /** JSON, in the form of the syncer's. */
  readonly includeNamespaces: string | undefined;
  readonly excludeNamespaces: string | undefined;
}

/** Which namespaces are compared. */
export interface Scope {
  readonly selects: (namespace: Namespace) => Promise<boolean>;
}

/** The namespaces that a record selects; a server of the destination decides about patterns. */
export function scopeOf(
  { includeNamespaces, excludeNamespaces }: ScopeRecord,
  destination: ClusterClient,
  signal: AbortSignal,
): Scope {
  const filter = new NamespaceFilter(
    {
      ...(includeNamespaces ? { includeNamespaces } : {}),
      ...(excludeNamespaces ? { excludeNamespaces } : {}),
    },
    serverMatcher(destination, signal),
  );
  return { selects: async (namespace) => await filter.selects(namespace) };
}

/**
 * Finds out what is to be compared: what the options select, with `verifyAll` all user databases, otherwise what the sync
 * selects that is recorded on the destination.
 * @throws SyncError NothingToCompare where there is neither; CheckFailed where what is recorded cannot be read.
 */
export async function readScope(
  options: ScopeOptions,
  destination: ClusterClient,
  signal: AbortSignal,
): Promise<ScopeRecord> {
  const sync = await readSyncOptions(destination, signal);
  const given = filterOf(options);
  const mayLackIndexes = sync?.['buildIndexes'] === 'never';
  if (given) return { ...given, mayLackIndexes };
  if (options.verifyAll) {
    return { includeNamespaces: null, excludeNamespaces: null, mayLackIndexes };
  }
  if (sync === undefined) {
    throw new SyncError(
      'NothingToCompare',
      `what to compare is not known: no sync is recorded in the destination's database ${syncDatabase}; start the verifier with --verifyAll to compare all user databases, or with --includeNamespaces`,
    );
  }
  try {
    return {
      includeNamespaces: entries(sync['includeNamespaces']),
      excludeNamespaces: entries(sync['excludeNamespaces']),
      mayLackIndexes,
    };
  } catch (error) {
    const reason = `the namespace filter of the sync recorded on the destination cannot be read: it is of another version of clustersync`;
    throw new SyncError('CheckFailed', reason, { cause: error });
  }
}

/**
 * Makes sure that a verification is still about what the sync selects: that may be another one by now.
 * @throws SyncError CheckFailed where it is.
 */
export async function requireSameScope(
  stored: ScopeRecord,
  options: ScopeOptions,
  destination: ClusterClient,
  signal: AbortSignal,
): Promise<void> {
  // Its state may be dropped after the commit: what was verified stays what it was.
  if ((await readSyncOptions(destination, signal)) === undefined) return;
  const now = await readScope(options, destination, signal);
  if (isDeepStrictEqual(now, stored)) return;
  throw new SyncError(
    'CheckFailed',
    'another sync is recorded on the destination now, which selects other namespaces or leaves out other indexes than the one that was verified: start another verification, with --clean or a higher --attempt (a SyncVerification: another spec.rerun)',
  );
}

/**
 * Makes sure that there is something to compare: a verdict on nothing would be `equal`.
 * @throws SyncError NothingToCompare where neither side has a namespace that is selected.
 */
export async function requireSomethingSelected(
  record: ScopeRecord,
  { source, destination }: OfSides<ClusterClient>,
  signal: AbortSignal,
): Promise<void> {
  const { selects } = scopeOf(record, destination, signal);
  for (const cluster of [source, destination])
    for (const db of await listUserDatabases(cluster, signal))
      for (const { namespace } of await listNamespaces(cluster, db, signal))
        if (await selects(namespace)) return;
  throw new SyncError(
    'NothingToCompare',
    'neither side has a collection or view that the verifier is to compare: look at its filter, or that of the sync, and at the connection strings',
  );
}

/**
 * The filter that the options give; undefined where they give none.
 * @throws SyncError InvalidOption, naming the option.
 */
export function filterOf({
  verifyAll,
  includeNamespaces,
  excludeNamespaces,
}: ScopeOptions): Pick<ScopeRecord, 'includeNamespaces' | 'excludeNamespaces'> | undefined {
  if (includeNamespaces === undefined && excludeNamespaces === undefined) return undefined;
  if (verifyAll) {
    throw new SyncError('InvalidOption', '--verifyAll and a namespace filter exclude each other');
  }
  return {
    includeNamespaces: parsed('includeNamespaces', includeNamespaces),
    excludeNamespaces: parsed('excludeNamespaces', excludeNamespaces),
  };
}

function parsed(option: string, text: string | undefined): NamespaceFilterEntry[] | null {
  if (text === undefined) return null;
  try {
    const list = entries(JSON.parse(text));
    if (list === null || list.length === 0) throw new Error('an array of entries is expected');
    return list;
  } catch (error) {
    throw new SyncError('InvalidOption', `--${option}: ${messageOf(error)}`, { cause: error });
  }
}

async function readSyncOptions(
  destination: ClusterClient,
  signal: AbortSignal,
): Promise<Document | undefined> {
  try {
    const sync = await destination.decoded
      .db(syncDatabase)
      .collection<{ _id: string; options?: unknown }>('sync')
      .findOne({ _id: 'sync' }, { signal });
    return isObject(sync?.options) ? sync.options : undefined;
  } catch (error) {
    // A user who may read the user databases alone can still verify all of them.
    if (codeOf(error) === serverCode.unauthorized) return undefined;
    throw error;
  }
}

function entries(value: unknown): NamespaceFilterEntry[] | null {
  if (value === undefined || value === null) return null;
  if (!Array.isArray(value)) throw new Error('an array of entries is expected');
  return value.map(filterEntry);
}

function filterEntry(value: unknown): NamespaceFilterEntry {
  if (!isObject(value)) throw new Error('an entry is an object');
  const { database, databaseRegex, collections, collectionsRegex, ...others } = withoutNulls(value);
  const [other] = Object.keys(others);
  if (other !== undefined) throw new Error(`an entry has no field ${JSON.stringify(other)}`);
  if (database !== undefined && typeof database !== 'string') throw notText('database');
  if ((database === undefined) === (databaseRegex === undefined)) {
    throw new Error('an entry has either database or databaseRegex');
  }
  if (collections !== undefined && collectionsRegex !== undefined) {
    throw new Error('an entry has collections or collectionsRegex, not both');
  }
  return {
    ...(database === undefined ? {} : { database }),
    ...(databaseRegex === undefined ? {} : { databaseRegex: namePattern(databaseRegex) }),
    ...(collections === undefined ? {} : { collections: names(collections) }),
    ...(collectionsRegex === undefined ? {} : { collectionsRegex: namePattern(collectionsRegex) }),
  };
}

function names(value: unknown): string[] {
  if (!Array.isArray(value)) throw new Error('collections is an array of names');
  return value.map((name) => {
    if (typeof name !== 'string') throw notText('a name of collections');
    return name;
  });
}

function namePattern(value: unknown): NamePattern {
  if (!isObject(value)) throw new Error('a regex is an object with pattern and options');
  const { pattern, options, ...others } = withoutNulls(value);
  const [other] = Object.keys(others);
  if (other !== undefined) throw new Error(`a regex has no field ${JSON.stringify(other)}`);
  if (typeof pattern !== 'string') throw notText('pattern');
  if (options !== undefined && typeof options !== 'string') throw notText('options');
  return options === undefined ? { pattern } : { pattern, options };
}

/** The driver stores undefined as null. */
function withoutNulls(value: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).filter(([, each]) => each !== null));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function notText(what: string): Error {
  return new Error(`${what} is a text`);
}
