import type { Document, Timestamp, UUID } from 'mongodb';
import { messageOf, SyncError } from '../service/errors.ts';
import type { ClusterClient } from './cluster-client.ts';
import { MalformedAnswer } from './malformed-answer.ts';
import { runCommand } from './run-command.ts';
import { withoutServersOwn } from './collection-options.ts';
import { isInternalDatabase, isSystemCollection, type Namespace } from './namespace.ts';
import {
  documentValue,
  elementsOf,
  isOddString,
  textValue,
  uuidValue,
  type RawDocument,
} from './raw-bson.ts';
import { hostsOf, RawCursor } from './raw-cursor.ts';
import { codeOf, isCursorLost, serverCode } from './server-errors.ts';
import { decodeIndexSpec, decodeSpec, type IndexSpec } from './specification.ts';
import { WholeReading } from './whole-reading.ts';

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
  /** viewOn, pipeline, and collation if it has one. */
  readonly options: Document;
}

/** A time-series collection. */
export interface TimeSeriesInfo {
  readonly kind: 'timeseries';
  readonly namespace: Namespace;
}

/** A collection or view whose name is not UTF-8: the name given here only resembles it, and leads nowhere. */
export interface OddlyNamedInfo {
  readonly kind: 'oddlyNamed';
  readonly namespace: Namespace;
}

/** Entries of a listing for each round trip: a longer listing is processed piece by piece, with other work in between. */
const listingBatch = 100;

export type NamespaceInfo = CollectionInfo | ViewInfo | TimeSeriesInfo | OddlyNamedInfo;

/**
 * Names of all databases that hold user data, in alphabetical order.
 * @param after - a cluster time that a majority has: what is read is not older. The same applies to all listings here.
 */
export async function listUserDatabases(
  cluster: ClusterClient,
  signal: AbortSignal,
  after?: Timestamp,
): Promise<string[]> {
  const command = notBefore({ listDatabases: 1, nameOnly: true }, after);
  const answer = await runCommand(cluster.admin, command, { signal });
  const names = answer
    .field('databases')
    .list()
    .map((database) => database.field('name').text());
  return names.filter((name) => !isInternalDatabase(name)).sort();
}

/** All collections and views of a database, without the server's own. A missing database has none. */
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

/** The server lists its current catalog, whether a majority has it or not; but it can be asked to wait for a time first. */
function notBefore(command: Document, after: Timestamp | undefined): Document {
  if (after === undefined) return command;
  return { ...command, readConcern: { level: 'local', afterClusterTime: after } };
}

/**
 * Maps each document that a listing command returns.
 * @throws SyncError ClusterUnreachable also if the cursor was lost, as in an election: list again; ServerRefused if the server
 * lists without end.
 */
async function list<T>(
  cluster: ClusterClient,
  db: string,
  command: Document,
  signal: AbortSignal,
  read: (entry: RawDocument) => readonly T[],
): Promise<T[]> {
  let address: string | undefined;
  try {
    const found: T[] = [];
    const reading = new WholeReading(`its list of ${db}`);
    await using cursor = await RawCursor.open(
      cluster.raw,
      db,
      { ...command, cursor: { batchSize: listingBatch } },
      { signal, batchSize: listingBatch },
    );
    ({ address } = cursor);
    for await (const { documents } of cursor.batches())
      for (const entry of documents) {
        reading.add(entry.length);
        found.push(...read(entry));
      }
    return found;
  } catch (error) {
    if (error instanceof MalformedAnswer) throw error.of(address ?? hostsOf(cluster.raw));
    if (!isCursorLost(error)) throw error;
    throw new SyncError('ClusterUnreachable', messageOf(error), { cause: error });
  }
}

function namespaceInfo(db: string, entry: RawDocument): NamespaceInfo {
  let coll: string | undefined;
  let isOddlyNamed = false;
  let type: string | undefined;
  let options: Document | undefined;
  let uuid: UUID | undefined;
  for (const element of elementsOf(entry)) {
    switch (element.name) {
      case 'name':
        coll = textValue(element);
        isOddlyNamed = isOddString(element);
        break;
      case 'type':
        type = textValue(element);
        break;
      case 'options':
        options = withoutServersOwn(decodeSpec(documentValue(element)));
        break;
      case 'info':
        uuid = uuidIn(documentValue(element));
        break;
      default:
    }
  }
  if (coll === undefined) throw lacking('a name');
  const namespace = { db, coll };
  if (isOddlyNamed) return { kind: 'oddlyNamed', namespace };
  switch (type) {
    case 'view':
      if (options === undefined) throw lacking('options', coll);
      return { kind: 'view', namespace, options };
    case 'timeseries':
      return { kind: 'timeseries', namespace };
    case 'collection':
      if (options === undefined) throw lacking('options', coll);
      if (uuid === undefined) throw lacking('info.uuid', coll);
      return { kind: 'collection', namespace, uuid, options };
    case undefined:
      throw lacking('a type', coll);
    default:
      throw new MalformedAnswer(
        `an answer to listCollections in which ${coll} is a ${JSON.stringify(type)}`,
      );
  }
}

function lacking(what: string, coll?: string): MalformedAnswer {
  const entry = coll ?? 'an entry';
  return new MalformedAnswer(`an answer to listCollections in which ${entry} is without ${what}`);
}

function uuidIn(info: RawDocument): UUID | undefined {
  const element = elementsOf(info).find(({ name }) => name === 'uuid');
  return element && uuidValue(element);
}

/** The collections and views with these names, which the server looks up without scanning the whole database. */
export async function listNamed(
  cluster: ClusterClient,
  db: string,
  names: readonly string[],
  signal: AbortSignal,
  after?: Timestamp,
): Promise<NamespaceInfo[]> {
  return await listNamespaces(cluster, db, signal, { name: { $in: names } }, after);
}

/** The collection with a UUID in any user database; undefined if there is none. */
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
 * The collection with a UUID in a database. It is looked up under its first known name: a search by UUID scans the whole
 * database.
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
 * All finished indexes of a collection, `_id` included; undefined if there is no collection. An index that is being built is
 * left out: a change event reports when it is finished.
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
      return spec === undefined ? [] : [decodeIndexSpec(documentValue(spec), namespace).name];
    });
  } catch (error) {
    if (isNoCollection(error)) return [];
    throw error;
  }
}

/** True if the server says that a name has no collection, or has a view. */
export function isNoCollection(error: unknown): boolean {
  const code = codeOf(error);
  return code === serverCode.namespaceNotFound || code === serverCode.commandNotSupportedOnView;
}

/** The specification of an index: while an index is being built it is a separate field, beside a `buildUUID`. */
function finishedIndex(entry: RawDocument, namespace: Namespace): IndexSpec[] {
  const elements = elementsOf(entry);
  if (elements.some(({ name }) => name === 'buildUUID')) return [];
  const spec = elements.find(({ name }) => name === 'spec');
  return [decodeIndexSpec(spec === undefined ? entry : documentValue(spec), namespace)];
}
