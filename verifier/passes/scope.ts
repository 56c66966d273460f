import { isDeepStrictEqual } from 'node:util';
import type { Document } from 'mongodb';
import { listNamespaces, listUserDatabases } from '../../mongo/catalog.ts';
import type { ClusterClient } from '../../mongo/cluster-client.ts';
import {
  NamespaceFilter,
  serverMatcher,
  type NamePattern,
  type NamespaceFilterEntry,
} from '../../mongo/namespace-filter.ts';
import { syncDatabase, type Namespace } from '../../mongo/namespace.ts';
import { codeOf, serverCode } from '../../mongo/server-errors.ts';
import { messageOf, shortened, SyncError } from '../../service/errors.ts';
import type { OfSides } from '../compare/sides.ts';
import type { ScopeRecord } from '../store/records.ts';

/** Limits of a filter, the same as the syncer's: any other filter cannot mean what the sync has moved, and would find it equal unseen. */
const maxEntries = 256;
const maxCollections = 1_024;
const maxDatabaseName = 63;
const maxCollectionName = 255;
const maxPattern = 1_024;
const databaseName = /^[^/\\. "$\0]+$/;
const patternOptions = /^[imsx]{0,4}$/;

/** What to compare, according to the options. */
export interface ScopeOptions {
  readonly verifyAll: boolean;
  /** JSON, in the syncer's format. */
  readonly includeNamespaces: string | undefined;
  readonly excludeNamespaces: string | undefined;
}

/** Which namespaces are compared. */
export interface Scope {
  readonly selects: (namespace: Namespace) => Promise<boolean>;
}

/** The namespaces that a record selects; a server of the destination evaluates the patterns. */
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
 * Determines what to compare: what the options select, with `verifyAll` all user databases, otherwise what the sync
 * recorded on the destination selects.
 * @throws SyncError NothingToCompare if there is neither; CheckFailed if the record cannot be read.
 */
export async function readScope(
  options: ScopeOptions,
  destination: ClusterClient,
  signal: AbortSignal,
): Promise<ScopeRecord> {
  const recorded = await readSync(destination, signal);
  const given = filterOf(options);
  const mayLackIndexes = recorded?.options['buildIndexes'] === 'never';
  const rest = { mayLackIndexes, sync: recorded?.identity ?? null };
  if (given) return { ...given, ...rest };
  if (options.verifyAll) return { includeNamespaces: null, excludeNamespaces: null, ...rest };
  if (recorded === undefined) {
    throw new SyncError(
      'NothingToCompare',
      `it is unknown what to compare: no sync is recorded in the destination's database ${syncDatabase}; start the verifier with --verifyAll to compare all user databases, or with --includeNamespaces`,
    );
  }
  try {
    return {
      includeNamespaces: entries(recorded.options['includeNamespaces']),
      excludeNamespaces: entries(recorded.options['excludeNamespaces']),
      ...rest,
    };
  } catch (error) {
    const reason = `the namespace filter of the sync recorded on the destination cannot be read: another version of clustersync wrote it`;
    throw new SyncError('CheckFailed', reason, { cause: error });
  }
}

/**
 * Ensures that a verification is still about the present sync and what it selects: there may be another one by now.
 * @throws SyncError CheckFailed if there is.
 */
export async function requireSameScope(
  stored: ScopeRecord,
  options: ScopeOptions,
  destination: ClusterClient,
  signal: AbortSignal,
): Promise<void> {
  // Its state may be dropped after the commit: that does not change what was verified.
  if ((await readSync(destination, signal)) === undefined) return;
  const differences = differencesOf(stored, await readScope(options, destination, signal));
  if (differences.length === 0) return;
  throw new SyncError(
    'CheckFailed',
    `the destination now records another sync than the one that was verified: it ${differences.join(', ')}. Start another verification, with --clean or a higher --attempt (a SyncVerification: another spec.rerun)`,
  );
}

/** How the present sync differs from the one that was verified. */
function differencesOf(stored: ScopeRecord, now: ScopeRecord): string[] {
  const filterIn = ({ includeNamespaces, excludeNamespaces }: ScopeRecord): unknown => {
    return [includeNamespaces, excludeNamespaces];
  };
  return [
    ...(isDeepStrictEqual(filterIn(stored), filterIn(now)) ? [] : ['selects other namespaces']),
    ...(stored.mayLackIndexes === now.mayLackIndexes ? [] : ['omits other indexes']),
    ...(stored.sync === null || now.sync === null || stored.sync === now.sync
      ? []
      : ['was started at another time, or reversed since']),
  ];
}

/**
 * Ensures that there is something to compare: a verdict on nothing would be `equal`.
 * @throws SyncError NothingToCompare if neither side has a namespace that is selected.
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
    'neither side has a collection or view to compare: check the filter of the verifier or of the sync, and the connection strings',
  );
}

/**
 * The filter in the options; undefined if there is none.
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
    if (list === null || list.length === 0) throw new Error('expected an array of entries');
    return list;
  } catch (error) {
    throw new SyncError('InvalidOption', `--${option}: ${messageOf(error)}`, { cause: error });
  }
}

/** The parts of a sync's record that a verification depends on. */
interface RecordedSync {
  readonly options: Document;
  /** Undefined if the record does not say. */
  readonly identity: string | undefined;
}

async function readSync(
  destination: ClusterClient,
  signal: AbortSignal,
): Promise<RecordedSync | undefined> {
  try {
    const sync = await destination.decoded
      .db(syncDatabase)
      .collection<StoredSync>('sync')
      .findOne({ _id: 'sync' }, { signal });
    return isObject(sync?.options)
      ? { options: sync.options, identity: identityOf(sync) }
      : undefined;
  } catch (error) {
    // A user who may read only the user databases can still verify all of them.
    if (codeOf(error) === serverCode.unauthorized) return undefined;
    throw error;
  }
}

/** Possibly stored by another version. */
interface StoredSync {
  readonly _id: string;
  readonly options?: unknown;
  readonly startedAt?: unknown;
  readonly reversals?: unknown;
}

function identityOf({ startedAt, reversals }: StoredSync): string | undefined {
  if (!(startedAt instanceof Date)) return undefined;
  const turns = typeof reversals === 'number' ? reversals : 0;
  return `started ${startedAt.toISOString()}, reversed ${turns}`;
}

function entries(value: unknown): NamespaceFilterEntry[] | null {
  if (value === undefined || value === null) return null;
  if (!Array.isArray(value)) throw new Error('expected an array of entries');
  if (value.length > maxEntries) throw new Error(`there are more than ${maxEntries} entries`);
  return value.map(filterEntry);
}

function filterEntry(value: unknown): NamespaceFilterEntry {
  if (!isObject(value)) throw new Error('an entry is an object');
  const { database, databaseRegex, collections, collectionsRegex, ...others } = withoutNulls(value);
  const [other] = Object.keys(others);
  if (other !== undefined) throw new Error(`an entry has no field ${JSON.stringify(other)}`);
  if (database !== undefined) requireDatabaseName(database);
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
  if (value.length === 0 || value.length > maxCollections)
    throw new Error(`collections is an array of 1 to ${maxCollections} names`);
  return value.map((name) => {
    if (typeof name !== 'string') throw notText('a name of collections');
    if (name === '' || name.length > maxCollectionName || name.includes('\0'))
      throw new Error(`${shown(name)} cannot be the name of a collection`);
    return name;
  });
}

function requireDatabaseName(name: unknown): asserts name is string {
  if (typeof name !== 'string') throw notText('database');
  if (name.length > maxDatabaseName || !databaseName.test(name))
    throw new Error(`${shown(name)} cannot be the name of a database`);
}

function shown(name: string): string {
  return JSON.stringify(shortened(name, maxDatabaseName));
}

function namePattern(value: unknown): NamePattern {
  if (!isObject(value)) throw new Error('a regex is an object with pattern and options');
  const { pattern, options, ...others } = withoutNulls(value);
  const [other] = Object.keys(others);
  if (other !== undefined) throw new Error(`a regex has no field ${JSON.stringify(other)}`);
  if (typeof pattern !== 'string') throw notText('pattern');
  if (pattern === '' || pattern.length > maxPattern || pattern.includes('\0'))
    throw new Error(`pattern has 1 to ${maxPattern} characters, none of them NUL`);
  if (options !== undefined && typeof options !== 'string') throw notText('options');
  if (options !== undefined && !patternOptions.test(options))
    throw new Error('options are any of i, m, s, x');
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
