import {
  isNoCollection,
  listIndexes,
  listNamespaces,
  listUserDatabases,
  type CollectionInfo,
  type NamespaceInfo,
} from '../../mongo/catalog.ts';
import type { ClusterClient } from '../../mongo/cluster-client.ts';
import { FilterSelection, type EntrySelection } from '../../mongo/filter-selection.ts';
import { namespaceText, type Namespace } from '../../mongo/namespace.ts';
import type { NamespaceFilter } from '../../mongo/namespace-filter.ts';
import { runCommand } from '../../mongo/run-command.ts';
import type { IndexSpec } from '../../mongo/specification.ts';
import { readVersion, type Topology } from '../../mongo/topology.ts';
import { forEachConcurrently } from '../../service/concurrency.ts';
import { SyncError } from '../../service/errors.ts';
import type { ClusterName, StartOptions } from '../options/command-bodies.ts';
import type { ClusterPair } from '../store/clusters.ts';

/** How many collections are asked about at the same time. */
export const askedSideBySide = 8;

/** What a deployment has, without its internal databases. */
export interface Listing {
  readonly databases: readonly string[];
  readonly all: readonly NamespaceInfo[];
  /** What the filter selects of it. */
  readonly selected: readonly NamespaceInfo[];
  /** What each entry of the filter matches. */
  readonly entries: readonly EntrySelection[];
}

/** The indexes of a selected collection of the source. */
export interface IndexesOf {
  readonly info: CollectionInfo;
  /** Or why they cannot be read: one of them has a name that is not UTF-8. */
  readonly indexes: readonly IndexSpec[] | SyncError;
}

/** The size of a selected collection of the source, by its own figures. */
export interface CollectionSize {
  readonly namespace: Namespace;
  readonly documentCount: number;
  /** Of the documents, uncompressed. */
  readonly dataBytes: number;
  /** Of documents and indexes, on disk. */
  readonly storedBytes: number;
}

/** One of the two deployments that are checked. */
export interface CheckedSide {
  readonly side: 'source' | 'destination';
  /** How errors call it. */
  readonly option: ClusterName;
  readonly cluster: ClusterClient;
  readonly topology: Topology;
  /** Of its servers, which may have been upgraded since the process started. */
  readonly version: () => Promise<string>;
  /** What it has, read when it is first needed. */
  readonly listing: () => Promise<Listing>;
}

/** What the checks of a start look at: both deployments and the options. What several checks need is read once. */
export class CheckSubject {
  readonly pair: ClusterPair;
  readonly options: StartOptions;
  readonly filter: NamespaceFilter;
  readonly source: CheckedSide;
  readonly destination: CheckedSide;
  readonly signal: AbortSignal;
  /** The indexes of the collections that are selected of the source. */
  readonly indexes: () => Promise<readonly IndexesOf[]>;
  /** The sizes of the same collections. */
  readonly sizes: () => Promise<readonly CollectionSize[]>;

  constructor(pair: ClusterPair, options: StartOptions) {
    this.pair = pair;
    this.options = options;
    this.signal = pair.signal;
    this.filter = pair.filterOf(options);
    this.source = this.#side('source');
    this.destination = this.#side('destination');
    this.indexes = readOnce(async () => await this.#readIndexes());
    this.sizes = readOnce(async () => await this.#readSizes());
  }

  /** Both, the source first. */
  get sides(): readonly CheckedSide[] {
    return [this.source, this.destination];
  }

  /** The selected collections of the source, without views. */
  async collections(): Promise<readonly CollectionInfo[]> {
    const { selected } = await this.source.listing();
    return selected.filter((info) => info.kind === 'collection');
  }

  #side(side: CheckedSide['side']): CheckedSide {
    const option = this.options[side];
    const { clients, topologies } = this.pair;
    return {
      side,
      option,
      cluster: clients[option],
      topology: topologies[option],
      version: readOnce(async () => await readVersion(clients[option], this.signal)),
      listing: readOnce(async () => await this.#list(clients[option])),
    };
  }

  async #list(cluster: ClusterClient): Promise<Listing> {
    const { filter, signal } = this;
    const selection = new FilterSelection(filter);
    const databases = await listUserDatabases(cluster, signal);
    const all: NamespaceInfo[] = [];
    const selected: NamespaceInfo[] = [];
    for (const db of databases) {
      for (const info of await listNamespaces(cluster, db, signal)) {
        all.push(info);
        if (await filter.selects(info.namespace)) selected.push(info);
        await selection.add(info.namespace);
      }
    }
    return { databases, all, selected, entries: selection.entries() };
  }

  async #readIndexes(): Promise<IndexesOf[]> {
    const { source, signal } = this;
    const found: IndexesOf[] = [];
    await forEachConcurrently(await this.collections(), askedSideBySide, async (info) => {
      found.push({ info, indexes: await indexesOf(source.cluster, info, signal) });
    });
    const nameOf = ({ info }: IndexesOf): string => namespaceText(info.namespace);
    return found.sort((left, right) => (nameOf(left) < nameOf(right) ? -1 : 1));
  }

  async #readSizes(): Promise<CollectionSize[]> {
    const { source, signal } = this;
    const found: CollectionSize[] = [];
    await forEachConcurrently(await this.collections(), askedSideBySide, async ({ namespace }) => {
      try {
        const db = source.cluster.decoded.db(namespace.db);
        const stats = await runCommand(db, { collStats: namespace.coll }, { signal });
        const [data, indexes] = [stats.field('storageSize'), stats.field('totalIndexSize')];
        found.push({
          namespace,
          documentCount: stats.field('count').number(),
          dataBytes: stats.field('size').number(),
          storedBytes: data.number() + indexes.number(),
        });
      } catch (error) {
        // Dropped since the listing.
        if (!isNoCollection(error)) throw error;
      }
    });
    return found;
  }
}

async function indexesOf(
  cluster: ClusterClient,
  { namespace }: CollectionInfo,
  signal: AbortSignal,
): Promise<IndexesOf['indexes']> {
  try {
    return (await listIndexes(cluster, namespace, signal)) ?? [];
  } catch (error) {
    if (error instanceof SyncError && error.name === 'NameNotSupported') return error;
    throw error;
  }
}

/** Reads something when it is first needed; a failure is kept, too. */
function readOnce<T>(read: () => Promise<T>): () => Promise<T> {
  let reading: Promise<T> | undefined;
  return async () => await (reading ??= read());
}

/** The first of some names, and how many more there are. */
export function namesOf(infos: readonly Pick<NamespaceInfo, 'namespace'>[]): string {
  return firstOf(infos.map(({ namespace }) => namespaceText(namespace)));
}

/** The first of some texts, and how many more there are. */
export function firstOf(texts: readonly string[]): string {
  const shown = texts.slice(0, 5);
  const more = texts.length - shown.length;
  return `${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

/** The namespaces of a finding. */
export function textsOf(infos: readonly Pick<NamespaceInfo, 'namespace'>[]): string[] {
  return infos.map(({ namespace }) => namespaceText(namespace));
}
