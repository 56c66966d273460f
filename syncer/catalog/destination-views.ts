import type { Document, Timestamp, WriteConcernSettings } from 'mongodb';
import {
  listNamed,
  listNamespaces,
  type NamespaceInfo,
  type ViewInfo,
} from '../../mongo/catalog.ts';
import type { ClusterClient } from '../../mongo/cluster-client.ts';
import { namespaceText, type Namespace } from '../../mongo/namespace.ts';
import { codeOf, isRefused, serverCode } from '../../mongo/server-errors.ts';
import { isSameOptions } from '../../mongo/specification.ts';
import { messageOf, SyncError } from '../../service/errors.ts';
import type { TrackedView } from '../state/records.ts';
import {
  dropNamespace,
  madeByOthers,
  modifyCollection,
  runCreate,
  type Destination,
} from './destination-catalog.ts';

/** What the server says of a view that does not go with the others that stand there. */
const refusedForOthers = new Set<number | undefined>([
  serverCode.graphContainsCycle,
  serverCode.viewDepthLimitExceeded,
  serverCode.optionNotSupportedOnView,
  serverCode.viewPipelineMaxSizeExceeded,
  // It is to be changed, and was refused when it was to be created.
  serverCode.namespaceNotFound,
]);

/**
 * Creates a view on the destination, replacing one that differs: it has no documents.
 * @throws SyncError ViewRefused; DestinationNotEmpty where a collection stands there.
 */
export async function createView(
  context: Destination,
  namespace: Namespace,
  options: Document,
): Promise<void> {
  await namingRefusals(namespace, async () => {
    try {
      await runCreate(context, namespace, options);
    } catch (error) {
      if (codeOf(error) !== serverCode.namespaceExists) throw error;
      await dropView(context, namespace);
      await createNew(context, namespace, options);
    }
  });
}

/**
 * Creates a view where nothing stood when the sync was started. May be repeated.
 * @throws SyncError ViewRefused; DestinationNotEmpty where somebody else has made what stands there.
 */
export async function createFirstView(
  context: Destination,
  namespace: Namespace,
  options: Document,
): Promise<void> {
  await namingRefusals(namespace, async () => {
    try {
      await createNew(context, namespace, options);
    } catch (error) {
      if (!isTaken(error)) throw error;
      const there = await whatIsAt(context, namespace);
      if (there?.kind !== 'view' || !isSameOptions(there.options, options)) throw error;
    }
  });
}

async function createNew(
  context: Destination,
  namespace: Namespace,
  options: Document,
): Promise<void> {
  try {
    await runCreate(context, namespace, options);
  } catch (error) {
    if (codeOf(error) !== serverCode.namespaceExists) throw error;
    throw madeByOthers(namespace);
  }
}

function isTaken(error: unknown): boolean {
  return error instanceof SyncError && error.name === 'DestinationNotEmpty';
}

/** Drops a view of the destination. A collection that stands there by now is left. */
export async function dropView(
  context: Omit<Destination, 'leftIndexes'>,
  namespace: Namespace,
  writeConcern?: WriteConcernSettings,
): Promise<void> {
  if ((await whatIsAt(context, namespace))?.kind === 'view')
    await dropNamespace(context, namespace, writeConcern);
}

/** Drops a view that is as the sync has made it. @throws SyncError DestinationNotEmpty where something else stands there. */
export async function dropViewMade(
  context: Omit<Destination, 'leftIndexes'>,
  { namespace, options }: TrackedView,
  writeConcern?: WriteConcernSettings,
): Promise<void> {
  const there = await whatIsAt(context, namespace);
  if (!there) return;
  if (there.kind !== 'view' || !isSameOptions(there.options, options))
    throw madeByOthers(namespace);
  await dropNamespace(context, namespace, writeConcern);
}

async function whatIsAt(
  { destination, signal }: Pick<Destination, 'destination' | 'signal'>,
  { db, coll }: Namespace,
): Promise<NamespaceInfo | undefined> {
  const [found] = await listNamed(destination, db, [coll], signal);
  return found;
}

/** Changes a view of the destination. @throws SyncError ViewRefused. */
export async function modifyView(
  context: Destination,
  namespace: Namespace,
  change: Document,
): Promise<void> {
  await namingRefusals(namespace, async () => {
    await modifyCollection(context, namespace, change);
  });
}

async function namingRefusals(namespace: Namespace, run: () => Promise<void>): Promise<void> {
  try {
    await run();
  } catch (error) {
    if (!isRefused(error)) throw error;
    throw new SyncError(
      'ViewRefused',
      `the destination refuses the view ${namespaceText(namespace)}: ${messageOf(error)}`,
      { cause: error },
    );
  }
}

/** True for the refusal of a view. */
export function isViewRefused(error: unknown): error is SyncError {
  return error instanceof SyncError && error.name === 'ViewRefused';
}

/**
 * True where a view was refused because of others that stand on the destination: they may be later than it, where change
 * events are applied over a later catalog.
 */
export function isRefusedForOthers({ cause }: SyncError): boolean {
  return refusedForOthers.has(codeOf(cause));
}

/** The views of a database. */
export async function listViews(
  cluster: ClusterClient,
  db: string,
  signal: AbortSignal,
  after?: Timestamp,
): Promise<ViewInfo[]> {
  const infos = await listNamespaces(cluster, db, signal, { type: 'view' }, after);
  return infos.filter((info) => info.kind === 'view');
}
