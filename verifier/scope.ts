import type { Document } from 'mongodb';
import type { ClusterClient } from '../mongo/cluster-client.ts';
import { syncDatabase, type Namespace } from '../mongo/namespace.ts';
import {
  NamespaceFilter,
  serverMatcher,
  type NamePattern,
  type NamespaceFilterEntry,
} from '../mongo/namespace-filter.ts';
import { codeOf, serverCode } from '../mongo/server-errors.ts';
import { SyncError } from '../service/errors.ts';

/** What a verification is about. */
export interface Scope {
  readonly selects: (namespace: Namespace) => Promise<boolean>;
  /** True where the sync leaves out what indexes it can (`buildIndexes: never`). */
  readonly mayLackIndexes: boolean;
}

/**
 * Finds out what is to be compared: with `verifyAll` all user databases, otherwise what the sync selects that is recorded
 * on the destination.
 * @throws SyncError CheckFailed where there is neither.
 */
export async function readScope(
  verifyAll: boolean,
  destination: ClusterClient,
  signal: AbortSignal,
): Promise<Scope> {
  const options = await readSyncOptions(destination, signal);
  if (!verifyAll && options === undefined) {
    throw new SyncError(
      'CheckFailed',
      `what to compare is not known: no sync is recorded in the destination's database ${syncDatabase}; start the verifier with --verifyAll to compare all user databases`,
    );
  }
  const filter = new NamespaceFilter(
    verifyAll ? {} : filterEntries(options),
    serverMatcher(destination, signal),
  );
  return {
    selects: async (namespace) => await filter.selects(namespace),
    mayLackIndexes: options?.['buildIndexes'] === 'never',
  };
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

function filterEntries(options: Document | undefined): {
  includeNamespaces?: NamespaceFilterEntry[];
  excludeNamespaces?: NamespaceFilterEntry[];
} {
  const include = entries(options?.['includeNamespaces']);
  const exclude = entries(options?.['excludeNamespaces']);
  return {
    ...(include ? { includeNamespaces: include } : {}),
    ...(exclude ? { excludeNamespaces: exclude } : {}),
  };
}

function entries(value: unknown): NamespaceFilterEntry[] | undefined {
  if (value === undefined || value === null) return undefined;
  if (!Array.isArray(value)) throw unreadable();
  return value.map(filterEntry);
}

function filterEntry(value: unknown): NamespaceFilterEntry {
  if (!isObject(value)) throw unreadable();
  const { database, databaseRegex, collections, collectionsRegex } = withoutNulls(value);
  if (database !== undefined && typeof database !== 'string') throw unreadable();
  return {
    ...(database === undefined ? {} : { database }),
    ...(databaseRegex === undefined ? {} : { databaseRegex: namePattern(databaseRegex) }),
    ...(collections === undefined ? {} : { collections: names(collections) }),
    ...(collectionsRegex === undefined ? {} : { collectionsRegex: namePattern(collectionsRegex) }),
  };
}

function names(value: unknown): string[] {
  if (!Array.isArray(value)) throw unreadable();
  return value.map((name) => {
    if (typeof name !== 'string') throw unreadable();
    return name;
  });
}

function namePattern(value: unknown): NamePattern {
  if (!isObject(value)) throw unreadable();
  const { pattern, options } = withoutNulls(value);
  if (typeof pattern !== 'string') throw unreadable();
  if (options !== undefined && typeof options !== 'string') throw unreadable();
  return options === undefined ? { pattern } : { pattern, options };
}

/** The driver stores undefined as null. */
function withoutNulls(value: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).filter(([, each]) => each !== null));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function unreadable(): SyncError {
  return new SyncError(
    'CheckFailed',
    `the namespace filter of the sync recorded on the destination cannot be read: it is of another version of clustersync`,
  );
}
