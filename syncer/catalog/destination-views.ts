import type { Document, Timestamp } from 'mongodb';
import { listNamespaces, type ViewInfo } from '../../mongo/catalog.ts';
import type { ClusterClient } from '../../mongo/cluster-client.ts';
import { namespaceText, type Namespace } from '../../mongo/namespace.ts';
import { codeOf, isRefused, serverCode } from '../../mongo/server-errors.ts';
import { messageOf, SyncError } from '../../service/errors.ts';
import {
  dropNamespace,
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

/** Creates a view on the destination, replacing one that differs. @throws SyncError ViewRefused. */
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
      await dropNamespace(context, namespace);
      await runCreate(context, namespace, options);
    }
  });
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
