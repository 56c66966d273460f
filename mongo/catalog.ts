import { type Document, UUID } from 'mongodb';
import type { ClusterClient } from './cluster-client.ts';
import { isInternalDatabase, isSystemCollection, type Namespace } from './namespace.ts';
import { codeOf, serverCode } from './server-errors.ts';

/** The specification of an index as listIndexes shows it: `v`, `key`, `name` and its options. */
export interface IndexSpec extends Document {
  readonly name: string;
  readonly key: Document;
}

/** A collection as listCollections shows it. */
export interface CollectionInfo {
  readonly kind: 'collection';
  readonly namespace: Namespace;
  readonly uuid: UUID;
  /** Everything that `create` was given: capped, collation, validator, clusteredIndex, ... */
  readonly options: Document;
}

/** A view as listCollections shows it. */
export interface ViewInfo {
  readonly kind: 'view';
  readonly namespace: Namespace;
  /** viewOn, pipeline, and collation where it has one. */
  readonly options: Document;
}

/** A time-series collection. */
export interface TimeSeriesInfo {
  readonly kind: 'timeseries';
  readonly namespace: Namespace;
}

export type NamespaceInfo = CollectionInfo | ViewInfo | TimeSeriesInfo;

/** Names of all databases that hold user data, in alphabetical order. */
export async function listUserDatabases(
  cluster: ClusterClient,
  signal: AbortSignal,
): Promise<string[]> {
  const answer = await cluster.admin.command({ listDatabases: 1, nameOnly: true }, { signal });
  const names = (answer['databases'] as { name: string }[]).map(({ name }) => name);
  return names.filter((name) => !isInternalDatabase(name)).sort();
}

/** All collections and views of a database, without the server's own. A database that is not there has none. */
export async function listNamespaces(
  cluster: ClusterClient,
  db: string,
  signal: AbortSignal,
  filter: Document = {},
): Promise<NamespaceInfo[]> {
  const infos: NamespaceInfo[] = [];
  for await (const entry of cluster.decoded
    .db(db)
    .listCollections(filter, { signal, ...keepTypes })) {
    const info = namespaceInfo(db, entry);
    if (!isSystemCollection(info.namespace.coll)) infos.push(info);
  }
  return infos;
}

/** Values keep their BSON types, so that options can be given to another server as they were. */
const keepTypes = {
  promoteValues: false,
  promoteLongs: false,
  promoteBuffers: false,
  // The server's regular expressions are not all JavaScript's.
  bsonRegExp: true,
} as const;

function namespaceInfo(db: string, entry: Document): NamespaceInfo {
  const namespace = { db, coll: String(entry['name']) };
  const options = (entry['options'] ?? {}) as Document;
  switch (String(entry['type'])) {
    case 'view':
      return { kind: 'view', namespace, options };
    case 'timeseries':
      return { kind: 'timeseries', namespace };
    default: {
      const { uuid } = entry['info'] as { uuid: UUID };
      return { kind: 'collection', namespace, uuid: new UUID(uuid.buffer), options };
    }
  }
}

/** The collection of a UUID in any user database, undefined when there is none. */
export async function findCollection(
  cluster: ClusterClient,
  uuid: UUID,
  signal: AbortSignal,
): Promise<CollectionInfo | undefined> {
  for (const db of await listUserDatabases(cluster, signal)) {
    const [found] = await listNamespaces(cluster, db, signal, { 'info.uuid': uuid });
    if (found?.kind === 'collection') return found;
  }
  return undefined;
}

/**
 * All finished indexes of a collection, `_id` included; undefined when the collection is not there. An index that is
 * being built is left out: a change event tells when it is finished.
 */
export async function listIndexes(
  cluster: ClusterClient,
  { db, coll }: Namespace,
  signal: AbortSignal,
): Promise<IndexSpec[] | undefined> {
  try {
    const answer = await cluster.decoded
      .db(db)
      .command(
        { listIndexes: coll, cursor: { batchSize: 1000 }, includeBuildUUIDs: true },
        { signal, ...keepTypes },
      );
    const { firstBatch } = answer['cursor'] as { firstBatch: Document[] };
    return firstBatch.filter((entry) => entry['buildUUID'] === undefined).map(indexSpec);
  } catch (error) {
    if (codeOf(error) === serverCode.namespaceNotFound) return undefined;
    throw error;
  }
}

function indexSpec(entry: Document): IndexSpec {
  const { spec, ...rest } = entry;
  const whole = (spec === undefined ? rest : spec) as Document;
  return { ...whole, name: String(whole['name']), key: whole['key'] as Document };
}
