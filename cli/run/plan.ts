import type { Connection } from '../../mongo/connection.ts';
import { createClusterClient, type ClusterClient } from '../../mongo/cluster-client.ts';
import {
  listIndexes,
  listNamespaces,
  listUserDatabases,
  type NamespaceInfo,
} from '../../mongo/catalog.ts';
import { FilterSelection, type EntrySelection } from '../../mongo/filter-selection.ts';
import { NamespaceFilter, serverMatcher } from '../../mongo/namespace-filter.ts';
import { namespaceText } from '../../mongo/namespace.ts';
import { naming } from '../../mongo/named-error.ts';
import { runCommand } from '../../mongo/run-command.ts';
import { forEachConcurrently } from '../../service/concurrency.ts';
import { SyncError } from '../../service/errors.ts';
import type { StartBody } from '../../sync-api/json.ts';

/** How many collections are queried concurrently. */
const sideBySide = 8;

/** What a migration would move. */
export interface Plan {
  /** The largest first. */
  readonly collections: readonly PlannedCollection[];
  readonly views: readonly string[];
  /** What each entry of the filter means; empty without one. */
  readonly filter: readonly EntrySelection[];
  readonly bytes: number;
  readonly documents: number;
  readonly indexes: number;
}

export interface PlannedCollection {
  readonly namespace: string;
  readonly bytes: number;
  readonly documents: number;
  readonly indexes: number;
}

/** Examines which part of the source is selected, and its size. Sizes are the server's own figures. */
export async function planOf(
  connection: Connection,
  body: StartBody,
  signal: AbortSignal,
): Promise<Plan> {
  await using source = clientOf(connection);
  const filter = filterOf(body, source, signal);
  const selection = new FilterSelection(filter);
  const collections: PlannedCollection[] = [];
  const views: string[] = [];
  await naming(async () => {
    await forEachNamespace(source, signal, async ({ kind, namespace }) => {
      await selection.add(namespace);
      if (!(await filter.selects(namespace))) return;
      if (kind === 'view') views.push(namespaceText(namespace));
      // Nothing else can be moved, which the check says.
      if (kind === 'collection') collections.push(await sizeOf(source, namespace, signal));
    });
  });
  const sum = (field: 'bytes' | 'documents' | 'indexes'): number =>
    collections.reduce((total, one) => total + one[field], 0);
  return {
    collections: collections.sort((left, right) => right.bytes - left.bytes),
    views: views.sort(),
    filter: selection.entries(),
    bytes: sum('bytes'),
    documents: sum('documents'),
    indexes: sum('indexes'),
  };
}

/** What each entry of the filter means on the source: a plan without the sizes. */
export async function filterEntries(
  connection: Connection,
  body: StartBody,
  signal: AbortSignal,
): Promise<readonly EntrySelection[]> {
  await using source = clientOf(connection);
  const selection = new FilterSelection(filterOf(body, source, signal));
  await naming(async () => {
    await forEachNamespace(source, signal, async ({ namespace }) => {
      await selection.add(namespace);
    });
  });
  return selection.entries();
}

async function forEachNamespace(
  source: ClusterClient,
  signal: AbortSignal,
  run: (info: NamespaceInfo) => Promise<void>,
): Promise<void> {
  for (const db of await listUserDatabases(source, signal))
    await forEachConcurrently(await listNamespaces(source, db, signal), sideBySide, run);
}

/**
 * Ensures that the source has something for each entry of `includeNamespaces`: a misspelt name would stay behind.
 * @throws SyncError InvalidOption.
 */
export function requireMatches(
  { includeNamespaces = [] }: StartBody,
  entries: readonly EntrySelection[],
): void {
  const empty = new Set(
    entries.flatMap(({ entry, namespaces }) => (namespaces === 0 ? [entry] : [])),
  );
  const missing = includeNamespaces.filter((_, index) => empty.has(`includeNamespaces[${index}]`));
  if (missing.length === 0) return;
  const names = missing.map((entry) => JSON.stringify(entry)).join(', ');
  throw new SyncError(
    'InvalidOption',
    `--include-namespaces: the source has nothing that matches ${names}: correct the name, or leave the entry out`,
  );
}

function clientOf(connection: Connection): ClusterClient {
  return createClusterClient({
    ...connection,
    ...{ option: 'source', appName: 'clustersync run' },
  });
}

function filterOf(
  { includeNamespaces, excludeNamespaces }: StartBody,
  source: ClusterClient,
  signal: AbortSignal,
): NamespaceFilter {
  return new NamespaceFilter(
    {
      ...(includeNamespaces ? { includeNamespaces } : {}),
      ...(excludeNamespaces ? { excludeNamespaces } : {}),
    },
    serverMatcher(source, signal),
  );
}

async function sizeOf(
  source: ClusterClient,
  namespace: { readonly db: string; readonly coll: string },
  signal: AbortSignal,
): Promise<PlannedCollection> {
  const { db, coll } = namespace;
  const stats = await runCommand(source.decoded.db(db), { collStats: coll }, { signal });
  const indexes = (await listIndexes(source, namespace, signal)) ?? [];
  return {
    namespace: namespaceText(namespace),
    bytes: stats.field('size').count(),
    documents: stats.field('count').count(),
    indexes: indexes.length,
  };
}
