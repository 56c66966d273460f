import {
  listNamespaces,
  listUserDatabases,
  type CollectionInfo,
  type NamespaceInfo,
} from '../../mongo/catalog.ts';
import type { ClusterClient } from '../../mongo/cluster-client.ts';
import { namespaceText, type Namespace } from '../../mongo/namespace.ts';
import { isKeptForCommand, isTrue } from '../../mongo/replicated-form.ts';
import { oddNameError } from '../../mongo/specification.ts';
import { SyncError } from '../../service/errors.ts';
import { relaxedText } from './document-difference.ts';

/** What each side has under one name. */
export interface NamespacePair {
  readonly namespace: Namespace;
  readonly source: NamespaceInfo | undefined;
  readonly destination: NamespaceInfo | undefined;
}

/** True if both sides have a collection, so that documents can be compared. */
export function isCollectionPair({ source, destination }: NamespacePair): boolean {
  return source?.kind === 'collection' && destination?.kind === 'collection';
}

/** True for a collection that is capped on the source. */
export function isCapped({ source }: NamespacePair): boolean {
  return source?.kind === 'collection' && isTrue(source.options['capped']);
}

/** True if both collections order their documents by `_id` alike, which depends on their collations. */
export function hasCommonOrder({ source, destination }: NamespacePair): boolean {
  const collationOf = (info: NamespaceInfo | undefined): string =>
    info?.kind === 'collection' ? relaxedText(info.options['collation'] ?? null) : '';
  return collationOf(source) === collationOf(destination);
}

/** The source's collection of a pair. */
export function sourceCollection({ source }: NamespacePair): CollectionInfo | undefined {
  return source?.kind === 'collection' ? source : undefined;
}

/** What reading the catalogs needs. */
export interface CatalogContext {
  readonly source: ClusterClient;
  readonly destination: ClusterClient;
  readonly selects: (namespace: Namespace) => Promise<boolean>;
  readonly signal: AbortSignal;
}

/**
 * Reads the catalogs of both sides, by namespace, except what the source keeps for a command: a commit leaves that out.
 * @param databases - in these databases; 'all' for all user databases of either side.
 * @throws SyncError TimeSeriesNotSupported, naming the first one that is selected.
 */
export async function readNamespacePairs(
  context: CatalogContext,
  databases: Iterable<string> | 'all',
): Promise<ReadonlyMap<string, NamespacePair>> {
  const { source, destination, signal } = context;
  const names = new Set(
    databases === 'all'
      ? [
          ...(await listUserDatabases(source, signal)),
          ...(await listUserDatabases(destination, signal)),
        ]
      : databases,
  );
  const pairs = new Map<string, NamespacePair>();
  for (const db of names) {
    for (const info of await selected(context, source, db)) {
      const { namespace } = info;
      pairs.set(namespaceText(namespace), { namespace, source: info, destination: undefined });
    }
    for (const info of await selected(context, destination, db)) {
      const { namespace } = info;
      const known = pairs.get(namespaceText(namespace))?.source;
      pairs.set(namespaceText(namespace), { namespace, source: known, destination: info });
    }
  }
  for (const [name, pair] of pairs) {
    const collection = sourceCollection(pair);
    if (collection && isKeptForCommand(collection.options)) pairs.delete(name);
  }
  return pairs;
}

async function selected(
  { selects, signal }: CatalogContext,
  cluster: ClusterClient,
  db: string,
): Promise<NamespaceInfo[]> {
  const infos: NamespaceInfo[] = [];
  for (const info of await listNamespaces(cluster, db, signal)) {
    if (!(await selects(info.namespace))) continue;
    if (info.kind === 'timeseries') {
      throw new SyncError(
        'TimeSeriesNotSupported',
        `${namespaceText(info.namespace)} is a time-series collection, which cannot be compared`,
      );
    }
    if (info.kind === 'oddlyNamed') throw oddNameError(namespaceText(info.namespace));
    infos.push(info);
  }
  return infos;
}

/** Number of databases whose catalogs are kept in memory, for both sides. */
const maxDatabases = 4;

/** The catalogs of both sides, read once for each database that has tasks in a pass. */
export class CatalogCache {
  readonly #context: CatalogContext;
  readonly #databases = new Map<string, Promise<ReadonlyMap<string, NamespacePair>>>();

  constructor(context: CatalogContext) {
    this.#context = context;
  }

  /** What both sides have under a name, possibly nothing on either. */
  async pair(namespace: Namespace): Promise<NamespacePair> {
    const pairs = await this.#read(namespace.db);
    return (
      pairs.get(namespaceText(namespace)) ?? {
        namespace,
        source: undefined,
        destination: undefined,
      }
    );
  }

  async #read(db: string): Promise<ReadonlyMap<string, NamespacePair>> {
    const known = this.#databases.get(db);
    if (known) return await known;
    const [oldest] = this.#databases.keys();
    if (oldest !== undefined && this.#databases.size >= maxDatabases)
      this.#databases.delete(oldest);
    const reading = readNamespacePairs(this.#context, [db]);
    this.#databases.set(db, reading);
    try {
      return await reading;
    } catch (error) {
      this.#databases.delete(db);
      throw error;
    }
  }
}
