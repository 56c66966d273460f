import { isDeepStrictEqual } from 'node:util';
import type { Document } from 'mongodb';
import { listNamespaces, listUserDatabases } from '../../mongo/catalog.ts';
import type { ClusterClient } from '../../mongo/cluster-client.ts';
import {
  NamespaceFilter,
  type NamespaceFilterEntry,
  serverMatcher,
} from '../../mongo/namespace-filter.ts';
import { syncDatabase, type Namespace } from '../../mongo/namespace.ts';
import { codeOf, serverCode } from '../../mongo/server-errors.ts';
import { messageOf, shortened, SyncError } from '../../service/errors.ts';
import type { Sides } from '../../mongo/sides.ts';
import type { ScopeRecord } from '../store/records.ts';
import {
  selectionOf,
  selectionOptions,
  type Selection,
  type SelectionOption,
} from '../store/selection.ts';
import { shownReasons } from './prove.ts';

/** How much of an entry of a filter a message quotes. */
const maxEntryLength = 100;

/** What to compare, according to the options. */
export interface ScopeOptions extends Readonly<Record<SelectionOption, string | undefined>> {
  readonly verifyAll: boolean;
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
  if (options.verifyAll) return { ...selectionOf(() => undefined), ...rest };
  if (recorded === undefined) {
    throw new SyncError(
      'NothingToCompare',
      `it is unknown what to compare: no sync is recorded in the destination's database ${syncDatabase}; start the verifier with --verifyAll to compare all user databases, or with --includeNamespaces`,
    );
  }
  try {
    return { ...selectionOf((option) => recorded.options[option] as unknown), ...rest };
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
  const filterIn = (scope: ScopeRecord): unknown => selectionOptions.map((name) => scope[name]);
  return [
    ...(isDeepStrictEqual(filterIn(stored), filterIn(now)) ? [] : ['selects other namespaces']),
    ...(stored.mayLackIndexes === now.mayLackIndexes ? [] : ['omits other indexes']),
    ...(stored.sync === null || now.sync === null || stored.sync === now.sync
      ? []
      : ['was started at another time, or reversed since']),
  ];
}

/**
 * Ensures that there is something to compare: a verdict on nothing would be `equal`. Of a filter in the options, that holds for each
 * included entry with a name, which may be misspelt; a server would have to try a pattern on every name. What a sync selects may be
 * created later, and its own check names such an entry.
 * @throws SyncError NothingToCompare if neither side has a namespace that is selected, or that has the names in such an entry.
 */
export async function requireSomethingSelected(
  record: ScopeRecord,
  options: ScopeOptions,
  { source, destination }: Sides<ClusterClient>,
  signal: AbortSignal,
): Promise<void> {
  const { selects } = scopeOf(record, destination, signal);
  const included = filterOf(options)?.includeNamespaces ?? [];
  const missing = new Map(included.map((entry, index) => [index, entry]));
  for (const [index, { database }] of missing) if (database === undefined) missing.delete(index);
  let isSelected = false;
  for (const cluster of [source, destination])
    for (const db of await listUserDatabases(cluster, signal))
      for (const { namespace } of await listNamespaces(cluster, db, signal)) {
        for (const [index, entry] of missing)
          if (hasNamesOf(namespace, entry)) missing.delete(index);
        isSelected ||= await selects(namespace);
        if (isSelected && missing.size === 0) return;
      }
  if (!isSelected) {
    throw new SyncError(
      'NothingToCompare',
      'neither side has a collection or view to compare: check the filter of the verifier or of the sync, and the connection strings',
    );
  }
  const entries = Array.from(missing, ([index, entry]) => {
    return `includeNamespaces[${index}] ${shortened(JSON.stringify(entry), maxEntryLength)}`;
  });
  throw new SyncError(
    'NothingToCompare',
    `neither side has anything that matches ${shownReasons(entries)}: correct the entries of the filter, or remove them`,
  );
}

/** Whether a namespace has the names in an entry, whatever its pattern for collections says. */
function hasNamesOf(
  { db, coll }: Namespace,
  { database, collections }: NamespaceFilterEntry,
): boolean {
  return database === db && (collections?.includes(coll) ?? true);
}

/**
 * The filter in the options, each JSON in the syncer's format; undefined if there is none.
 * @throws SyncError InvalidOption, naming the option.
 */
export function filterOf(options: ScopeOptions): Selection | undefined {
  if (selectionOptions.every((option) => options[option] === undefined)) return undefined;
  if (options.verifyAll) {
    throw new SyncError(
      'InvalidOption',
      '--verifyAll and a namespace filter are mutually exclusive',
    );
  }
  try {
    return selectionOf((option) => parsed(options[option]));
  } catch (error) {
    throw new SyncError('InvalidOption', `--${messageOf(error)}`, { cause: error });
  }
}

function parsed(text: string | undefined): unknown {
  if (text === undefined) return undefined;
  const value = JSON.parse(text) as unknown;
  if (value === null || (Array.isArray(value) && value.length === 0))
    throw new Error('expected an array of entries');
  return value;
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

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
