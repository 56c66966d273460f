import type { Document, Timestamp, WriteConcernSettings } from 'mongodb';
import { listNamespaces, type NamespaceInfo, type ViewInfo } from '../../mongo/catalog.ts';
import type { ClusterClient } from '../../mongo/cluster-client.ts';
import { namespaceText, type Namespace } from '../../mongo/namespace.ts';
import { codeOf, isRefused, serverCode } from '../../mongo/server-errors.ts';
import { isSameOptions } from '../../mongo/specification.ts';
import { messageOf, SyncError } from '../../service/errors.ts';
import type { TrackedView } from '../store/records.ts';
import {
  dropNamespace,
  madeByOthers,
  modifyCollection,
  namespaceAt,
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
    if (await createUnlessThere(context, namespace, options)) return;
    await dropView(context, namespace);
    if (!(await createUnlessThere(context, namespace, options))) throw madeByOthers(namespace);
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
    if (await createUnlessThere(context, namespace, options)) return;
    if (!isSameView(await namespaceAt(context, namespace), options)) throw madeByOthers(namespace);
  });
}

/** @returns false where something stands at its name already. */
async function createUnlessThere(
  context: Destination,
  namespace: Namespace,
  options: Document,
): Promise<boolean> {
  try {
    await runCreate(context, namespace, options);
    return true;
  } catch (error) {
    if (codeOf(error) !== serverCode.namespaceExists) throw error;
    return false;
  }
}

/** True for a view of these options. */
export function isSameView(there: NamespaceInfo | undefined, options: Document): boolean {
  return there?.kind === 'view' && isSameOptions(there.options, options);
}

/** Drops a view of the destination. A collection that stands there by now is left. */
export async function dropView(
  context: Omit<Destination, 'leftIndexes'>,
  namespace: Namespace,
): Promise<void> {
  if ((await namespaceAt(context, namespace))?.kind === 'view')
    await dropNamespace(context, namespace);
}

/** Drops a view that is as the sync has made it. @throws SyncError DestinationNotEmpty where something else stands there. */
export async function dropViewMade(
  context: Omit<Destination, 'leftIndexes'>,
  { namespace, options }: TrackedView,
  writeConcern?: WriteConcernSettings,
): Promise<void> {
  const there = await namespaceAt(context, namespace);
  if (!there) return;
  if (!isSameView(there, options)) throw madeByOthers(namespace);
  await dropNamespace(context, namespace, writeConcern);
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
