import { type Document, UUID } from 'mongodb';
import { commandDeadlineMs, runCommand, type ClusterClient } from './cluster-client.ts';
import { isInternalDatabase, isSystemCollection, type Namespace } from './namespace.ts';
import { elementsOf, stringValue, valueBytes, type RawDocument } from './raw-bson.ts';
import { decodeElement } from './raw-value.ts';
import { RawCursor } from './raw-cursor.ts';
import { codeOf, serverCode } from './server-errors.ts';
import { decodeIndexSpec, decodeSpec, type IndexSpec } from './specification.ts';

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
  const answer = await runCommand(cluster.admin, { listDatabases: 1, nameOnly: true }, { signal });
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
  const entries = await listRaw(cluster, db, { listCollections: 1, filter }, signal);
  return entries
    .map((entry) => namespaceInfo(db, entry))
    .filter(({ namespace }) => !isSystemCollection(namespace.coll));
}

/** All documents that a listing command gives, as bytes. */
async function listRaw(
  cluster: ClusterClient,
  db: string,
  command: Document,
  signal: AbortSignal,
): Promise<RawDocument[]> {
  const documents: RawDocument[] = [];
  await using cursor = await RawCursor.open(
    cluster.raw,
    db,
    { ...command, cursor: {} },
    { signal, deadlineMs: commandDeadlineMs },
  );
  for await (const batch of cursor.batches()) documents.push(...batch.documents);
  return documents;
}

function namespaceInfo(db: string, entry: RawDocument): NamespaceInfo {
  let coll = '';
  let type = '';
  let options: Document = {};
  let uuid: UUID | undefined;
  for (const element of elementsOf(entry)) {
    switch (element.name) {
      case 'name':
        coll = stringValue(element);
        break;
      case 'type':
        type = stringValue(element);
        break;
      case 'options':
        options = decodeSpec(valueBytes(element));
        break;
      case 'info':
        uuid = uuidIn(valueBytes(element));
        break;
      default:
    }
  }
  const namespace = { db, coll };
  if (type === 'view') return { kind: 'view', namespace, options };
  if (type === 'timeseries') return { kind: 'timeseries', namespace };
  if (uuid === undefined) throw new Error(`listCollections shows ${coll} without a UUID`);
  return { kind: 'collection', namespace, uuid, options };
}

function uuidIn(info: RawDocument): UUID | undefined {
  const element = elementsOf(info).find(({ name }) => name === 'uuid');
  return element && new UUID((decodeElement(element) as UUID).buffer);
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
    const command = { listIndexes: coll, includeBuildUUIDs: true };
    const entries = await listRaw(cluster, db, command, signal);
    return entries.flatMap(finishedIndex);
  } catch (error) {
    if (codeOf(error) === serverCode.namespaceNotFound) return undefined;
    throw error;
  }
}

/** The specification of an index: of one that is being built it is a field of its own, beside a `buildUUID`. */
function finishedIndex(entry: RawDocument): IndexSpec[] {
  const elements = elementsOf(entry);
  if (elements.some(({ name }) => name === 'buildUUID')) return [];
  const spec = elements.find(({ name }) => name === 'spec');
  return [decodeIndexSpec(spec === undefined ? entry : valueBytes(spec))];
}
