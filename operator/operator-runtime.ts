import type { Counter } from 'prom-client';
import type { Logger } from '../service/logger.ts';
import { clusterSyncs, type ClusterSyncStatus } from './api/clustersync.ts';
import { syncVerifications } from './api/sync-verification.ts';
import { leases, networkPolicies, pods, services, statefulSets } from './kube/builtin-resources.ts';
import type { KubeClient } from './kube/client.ts';
import type { EventRecorder } from './kube/event-recorder.ts';
import type { KubeMetrics } from './kube/metrics.ts';
import type { KubeObject, Resource } from './kube/resource.ts';
import type { OwnedNamespaces } from './leases/owned-namespaces.ts';
import type { LatestStatuses } from './operand/latest-statuses.ts';
import { managedSelector } from './operand/names.ts';
import { ObjectCache } from './operand/object-cache.ts';
import { OperandStore } from './operand/operand-store.ts';
import { WatchedNamespaces } from './operand/watched-namespaces.ts';
import type { TokenKey } from './operand/token-key.ts';
import type { OperandSettings } from './operand/workload.ts';
import { namesIn, type OperatorOptions } from './options.ts';
import type { WorkNamespaces } from './work-namespaces.ts';

/** What all parts of the operator share. */
export interface OperatorRuntime {
  readonly options: OperatorOptions;
  readonly logger: Logger;
  /** Writes while this process leads, and only in namespaces that the operator owns. */
  readonly client: KubeClient;
  /** Writes while this process leads: what is not of one of its namespaces, such as its own Leases. */
  readonly ownClient: KubeClient;
  readonly mayAct: () => boolean;
  readonly metrics: KubeMetrics;
  readonly recorder: EventRecorder;
  readonly settings: OperandSettings;
  readonly tokenKey: TokenKey;
  readonly caches: ReturnType<typeof openCaches>;
  readonly watched: WatchedNamespaces;
  readonly owned: OwnedNamespaces;
  readonly namespaces: WorkNamespaces;
  readonly latest: LatestStatuses<ClusterSyncStatus>;
  readonly corrections: Counter<'kind'>;
}

/** The operator's namespaces; all if empty. */
export function watchedNamespaces({ watchNamespaces }: OperatorOptions): readonly string[] {
  return namesIn(watchNamespaces);
}

/** What the operator knows about the cluster, kept up to date by watches once they run. */
export function openCaches(client: KubeClient, options: OperatorOptions, logger: Logger) {
  const namespaces = watchedNamespaces(options);
  const cache = <T extends KubeObject>(resource: Resource<T>, labelSelector?: string) =>
    new ObjectCache<T>({
      client,
      resource,
      namespaces,
      logger,
      ...(labelSelector !== undefined && { labelSelector }),
    });
  return {
    clusterSyncs: cache(clusterSyncs),
    syncVerifications: cache(syncVerifications),
    statefulSets: cache(statefulSets, managedSelector),
    services: cache(services, managedSelector),
    networkPolicies: cache(networkPolicies, managedSelector),
    pods: cache(pods, managedSelector),
    leases: new ObjectCache({
      ...{ client, resource: leases, namespaces: [options.leaseNamespace], logger },
      labelSelector: managedSelector,
    }),
  };
}

/** Whether a namespace has custom resources. */
export function isInUse(
  { clusterSyncs, syncVerifications }: OperatorRuntime['caches'],
  namespace: string,
): boolean {
  return [clusterSyncs, syncVerifications].some((cache) =>
    cache.list().some(({ metadata }) => metadata.namespace === namespace),
  );
}

/** Which namespaces the caches know. */
export function watchedBy(
  { leases: ownLeases, ...caches }: OperatorRuntime['caches'],
  options: OperatorOptions,
  logger: Logger,
): WatchedNamespaces {
  return new WatchedNamespaces({
    caches: Object.values(caches),
    namespaces: watchedNamespaces(options),
    leases: ownLeases,
    leaseNamespace: options.leaseNamespace,
    logger,
  });
}

/** What operands are created with. */
export function operandStoreOf({
  client,
  caches,
  tokenKey,
  corrections,
}: OperatorRuntime): OperandStore {
  return new OperandStore(client, caches, tokenKey, (kind) => {
    corrections.inc({ kind });
  });
}
