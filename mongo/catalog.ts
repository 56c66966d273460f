import { type Document, type Timestamp, UUID } from 'mongodb';
import { messageOf, SyncError } from '../service/errors.ts';
import type { ClusterClient } from './cluster-client.ts';
import { MalformedAnswer } from './malformed-answer.ts';
import { runCommand } from './run-command.ts';
import { isInternalDatabase, isSystemCollection, type Namespace } from './namespace.ts';
import { elementsOf, isOddString, stringValue, valueBytes, type RawDocument } from './raw-bson.ts';
import { decodeElement } from './raw-value.ts';
import { hostsOf, RawCursor } from './raw-cursor.ts';
import { codeOf, isCursorLost, serverCode } from './server-errors.ts';
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

/** A collection or view whose name is not UTF-8: what it is called here is only like it, and leads nowhere. */
export interface OddlyNamedInfo {
  readonly kind: 'oddlyNamed';
  readonly namespace: Namespace;
}

/** More than any server lists in a database: a million collections, or 100,000 of which each has its own validator. */
const maxListedBytes = 256 * 1024 * 1024;

/** Entries of a listing for each round trip: a longer one is taken apart piece by piece, with other work in between. */
const listingBatch = 100;

export type NamespaceInfo = CollectionInfo | ViewInfo | TimeSeriesInfo | OddlyNamedInfo;

/**
 * Names of all databases that hold user data, in alphabetical order.
 * @param after - a cluster time, as of a majority: what is read is not older. So it is of all that lists.
 */
export async function listUserDatabases(
  cluster: ClusterClient,
  signal: AbortSignal,
  after?: Timestamp,
): Promise<string[]> {
  const command = notBefore({ listDatabases: 1, nameOnly: true }, after);
  const answer = await runCommand(cluster.admin, command, { signal });
  const names = (answer['databases'] as { name: string }[]).map(({ name }) => name);
  return names.filter((name) => !isInternalDatabase(name)).sort();
}

/** All collections and views of a database, without the server's own. A database that is not there has none. */
export async function listNamespaces(
  cluster: ClusterClient,
  db: string,
  signal: AbortSignal,
  filter: Document = {},
  after?: Timestamp,
): Promise<NamespaceInfo[]> {
  const command = notBefore({ listCollections: 1, filter }, after);
  return await list(cluster, db, command, signal, (entry) => {
    const info = namespaceInfo(db, entry);
    return isSystemCollection(info.namespace.coll) ? [] : [info];
  });
}

/** The server lists its catalog as it has it, whether a majority has it or not; but it can be asked to wait for a time first. */
function notBefore(command: Document, after: Timestamp | undefined): Document {
  if (after === undefined) return command;
  return { ...command, readConcern: { level: 'local', afterClusterTime: after } };
}

/**
 * What is made of each document that a listing command gives.
 * @throws SyncError ClusterUnreachable also where the cursor was lost, as in an election: it is to be listed again; ServerRefused
 * where the server lists without end.
 */
async function list<T>(
  cluster: ClusterClient,
  db: string,
  command: Document,
  signal: AbortSignal,
  read: (entry: RawDocument) => readonly T[],
): Promise<T[]> {
  try {
    const found: T[] = [];
    let listedBytes = 0;
    await using cursor = await RawCursor.open(
      cluster.raw,
      db,
      { ...command, cursor: { batchSize: listingBatch } },
      { signal, batchSize: listingBatch },
    );
    for await (const { documents } of cursor.batches())
      for (const entry of documents) {
        listedBytes += entry.length;
        if (listedBytes > maxListedBytes)
          throw new SyncError('ServerRefused', `the server's list of ${db} does not end`);
        found.push(...read(entry));
      }
    return found;
  } catch (error) {
    if (error instanceof MalformedAnswer) throw error.of(hostsOf(cluster.raw));
    if (!isCursorLost(error)) throw error;
    throw new SyncError('ClusterUnreachable', messageOf(error), { cause: error });
  }
}

function namespaceInfo(db: string, entry: RawDocument): NamespaceInfo {
  let coll = '';
  let isOddlyNamed = false;
  let type = '';
  let options: Document = {};
  let uuid: UUID | undefined;
  for (const element of elementsOf(entry)) {
    switch (element.name) {
      case 'name':
        coll = stringValue(element);
        isOddlyNamed = isOddString(element);
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
  if (isOddlyNamed) return { kind: 'oddlyNamed', namespace };
  if (type === 'view') return { kind: 'view', namespace, options };
  if (type === 'timeseries') return { kind: 'timeseries', namespace };
  if (uuid === undefined) throw new Error(`listCollections shows ${coll} without a UUID`);
  return { kind: 'collection', namespace, uuid, options };
}

function uuidIn(info: RawDocument): UUID | undefined {
  const element = elementsOf(info).find(({ name }) => name === 'uuid');
  return element && new UUID((decodeElement(element) as UUID).buffer);
}

/** The collections and views of these names, which the server looks up without going through the whole database. */
export async function listNamed(
  cluster: ClusterClient,
  db: string,
  names: readonly string[],
  signal: AbortSignal,
  after?: Timestamp,
): Promise<NamespaceInfo[]> {
  return await listNamespaces(cluster, db, signal, { name: { $in: names } }, after);
}

/** The collection of a UUID in any user database, undefined when there is none. */
export async function findCollection(
  cluster: ClusterClient,
  uuid: UUID,
  signal: AbortSignal,
  after?: Timestamp,
): Promise<CollectionInfo | undefined> {
  for (const db of await listUserDatabases(cluster, signal, after)) {
    const [found] = await listNamespaces(cluster, db, signal, { 'info.uuid': uuid }, after);
    if (found?.kind === 'collection') return found;
  }
  return undefined;
}

/**
 * The collection of a UUID in a database. It is looked for at the name that it had first: a search by the UUID goes
 * through the whole database.
 */
export async function findInDatabase(
  cluster: ClusterClient,
  { db, coll }: Namespace,
  uuid: UUID | null,
  signal: AbortSignal,
): Promise<CollectionInfo | undefined> {
  if (uuid === null) return undefined;
  for (const filter of [{ name: coll }, { 'info.uuid': uuid }]) {
    const [found] = await listNamespaces(cluster, db, signal, filter);
    if (found?.kind === 'collection' && found.uuid.equals(uuid)) return found;
  }
  return undefined;
}

/**
 * All finished indexes of a collection, `_id` included; undefined when no collection is there. An index that is
 * being built is left out: a change event tells when it is finished.
 * @throws SyncError NameNotSupported for an index whose name is not UTF-8.
 */
export async function listIndexes(
  cluster: ClusterClient,
  namespace: Namespace,
  signal: AbortSignal,
  after?: Timestamp,
): Promise<IndexSpec[] | undefined> {
  try {
    const command = notBefore({ listIndexes: namespace.coll, includeBuildUUIDs: true }, after);
    return await list(cluster, namespace.db, command, signal, (entry) =>
      finishedIndex(entry, namespace),
    );
  } catch (error) {
    if (isNoCollection(error)) return undefined;
    throw error;
  }
}

/** The names of the indexes of a collection that are being built; through a router, on one of the shards. */
export async function listIndexBuilds(
  cluster: ClusterClient,
  namespace: Namespace,
  signal: AbortSignal,
): Promise<string[]> {
  try {
    const command = { listIndexes: namespace.coll, includeBuildUUIDs: true };
    return await list(cluster, namespace.db, command, signal, (entry) => {
      const spec = elementsOf(entry).find(({ name }) => name === 'spec');
      return spec === undefined ? [] : [decodeIndexSpec(valueBytes(spec), namespace).name];
    });
  } catch (error) {
    if (isNoCollection(error)) return [];
    throw error;
  }
}

/** True for the server's word that no collection stands at a name, or a view does. */
export function isNoCollection(error: unknown): boolean {
  const code = codeOf(error);
  return code === serverCode.namespaceNotFound || code === serverCode.commandNotSupportedOnView;
}

/** The specification of an index: of one that is being built it is a field of its own, beside a `buildUUID`. */
function finishedIndex(entry: RawDocument, namespace: Namespace): IndexSpec[] {
  const elements = elementsOf(entry);
  if (elements.some(({ name }) => name === 'buildUUID')) return [];
  const spec = elements.find(({ name }) => name === 'spec');
  return [decodeIndexSpec(spec === undefined ? entry : valueBytes(spec), namespace)];
}
