import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { collectDefaultMetrics, Registry, type Counter } from 'prom-client';
import { startDashboard, type DashboardServer } from '../dashboard/server/dashboard-server.ts';
import { startHttpServer } from '../service/http-server.ts';
import type { Logger } from '../service/logger.ts';
import { clusterSyncs, type ClusterSyncStatus } from './api/clustersync.ts';
import { syncVerifications } from './api/sync-verification.ts';
import { DestinationClaims } from './clustersync/destination-claims.ts';
import { ClusterSyncReconciler } from './clustersync/reconcile.ts';
import { SourceTopologies } from './clustersync/source-topologies.ts';
import { syncerApi, type SyncerCommand, type SyncerProgress } from './clustersync/syncer-client.ts';
import { HoldKeeper } from './commit/hold-keeper.ts';
import { Workloads } from './commit/workloads.ts';
import { OperatorSource } from './dashboard/operator-source.ts';
import { leases, networkPolicies, pods, services, statefulSets } from './kube/builtin-resources.ts';
import { KubeClient } from './kube/client.ts';
import { Controller, type Reconcile } from './kube/controller.ts';
import { EventRecorder } from './kube/event-recorder.ts';
import { loadKubeConfig } from './kube/kubeconfig.ts';
import { LeaderElector } from './kube/leader-election.ts';
import { KubeMetrics } from './kube/metrics.ts';
import type { KubeObject, Resource } from './kube/resource.ts';
import { LeaseBook } from './leases/lease-book.ts';
import { holderKey, type LeaseHolder } from './leases/lease-holder.ts';
import { correctionCounter, registerResourceMetrics } from './metrics.ts';
import { LatestStatuses } from './operand/latest-statuses.ts';
import { OperandMonitor, type OperandApi } from './operand/monitor.ts';
import { managedSelector } from './operand/names.ts';
import { ObjectCache } from './operand/object-cache.ts';
import { OperandStore } from './operand/operand-store.ts';
import type { OperandSettings } from './operand/workload.ts';
import type { OperatorOptions } from './options.ts';
import { onLease, onOwned, onPod, onResource, onVerifiedSync } from './triggers.ts';
import { VerificationReconciler } from './verification/reconcile.ts';
import {
  verifierApi,
  type VerifierCommand,
  type VerifierProgress,
} from './verification/verifier-client.ts';

/** Reconciles of a kind at the same time: they wait for the API server, mostly. */
const workers = 8;
/** An API server that is started anew is no reason to be called not ready. */
const maxBehindMs = 15_000;
const controllerName = 'clustersync.dev/operator';

/** What all parts of the operator share. */
interface Foundation {
  readonly options: OperatorOptions;
  readonly logger: Logger;
  /** Writes only while this process leads. */
  readonly client: KubeClient;
  readonly mayAct: () => boolean;
  readonly metrics: KubeMetrics;
  readonly recorder: EventRecorder;
  readonly settings: OperandSettings;
  readonly caches: ReturnType<typeof openCaches>;
  readonly latest: LatestStatuses<ClusterSyncStatus>;
  readonly corrections: Counter<'kind'>;
}

/**
 * Runs the operator until the signal is aborted.
 * @param onListening - gets the port of health and metrics, and that of the dashboard, where there is one.
 * @throws LeadershipLostError when another operator may lead: the process is to end.
 */
export async function startOperator(
  options: OperatorOptions,
  logger: Logger,
  signal: AbortSignal,
  onListening?: (port: number, dashboardPort: number | undefined) => void,
): Promise<void> {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const metrics = new KubeMetrics(registry);
  const config = loadKubeConfig({ path: options.kubeconfig, env: process.env });
  // The Lease has connections of its own, on which nothing else is waited for.
  using electing = new KubeClient(config, metrics);
  const elector = options.leaderElect ? electorOf(electing, options, logger, metrics) : undefined;
  // One that was frozen goes on in the middle of whatever it did: it must know by itself that its time is over.
  const mayAct = (): boolean => elector?.isLeader ?? true;
  using client = new KubeClient(config, metrics, { mayWrite: mayAct });
  const recorder = new EventRecorder({
    client,
    logger,
    controller: controllerName,
    instance: hostname(),
  });
  const caches = openCaches(client, options, logger);
  const foundation: Foundation = {
    options,
    logger,
    client,
    mayAct,
    metrics,
    recorder,
    caches,
    latest: new LatestStatuses(),
    corrections: correctionCounter(registry),
    settings: settingsOf(options),
  };
  registerResourceMetrics(registry, { ...caches, latest: foundation.latest, isActive: mayAct });
  const all = Object.values(caches);
  await using server = await startHttpServer({
    host: options.host,
    port: options.port,
    routes: [],
    logger,
    metrics: registry,
    isReady: () =>
      all.every(({ hasSynced, behindMs }) => hasSynced && behindMs < maxBehindMs) &&
      (elector?.isInTouch() ?? true),
    isAlive: () => elector?.isAlive() ?? true,
  });
  await using dashboard = options.dashboard ? await openDashboard(foundation) : undefined;
  onListening?.(server.port, dashboard?.port);
  await together(signal, (stopping) => [
    ...all.map(async (cache) => {
      await cache.run(stopping);
    }),
    recorder.run(stopping),
    elector
      ? elector.run(stopping, async (leading) => {
          await lead(foundation, leading);
        })
      : lead(foundation, stopping),
  ]);
}

async function openDashboard(foundation: Foundation): Promise<DashboardServer> {
  const { options, client, caches, latest, logger, mayAct } = foundation;
  return await startDashboard({
    host: options.dashboardHost,
    port: options.dashboardPort,
    token: options.dashboardToken,
    logger,
    source: new OperatorSource({
      ...caches,
      client,
      latest,
      store: operandStoreOf(foundation),
      namespaces: watchedNamespaces(options),
      isActive: mayAct,
    }),
  });
}

function electorOf(
  client: KubeClient,
  options: OperatorOptions,
  logger: Logger,
  metrics: KubeMetrics,
): LeaderElector {
  const leaseDurationMs = options.leaseDurationSeconds * 1_000;
  return new LeaderElector({
    client,
    namespace: options.leaseNamespace,
    name: options.leaseName,
    identity: `${hostname()}_${randomUUID()}`,
    logger,
    metrics,
    // 15 s, 10 s and 2 s are those of most operators.
    leaseDurationMs,
    renewDeadlineMs: (leaseDurationMs * 10) / 15,
    retryPeriodMs: (leaseDurationMs * 2) / 15,
  });
}

/** Runs tasks until all have ended. The first that fails ends the others, too. */
async function together(
  signal: AbortSignal,
  start: (stopping: AbortSignal) => readonly Promise<void>[],
): Promise<void> {
  const failed = new AbortController();
  const tasks = start(AbortSignal.any([signal, failed.signal]));
  try {
    await Promise.all(tasks);
  } catch (error) {
    failed.abort(error);
    throw error;
  } finally {
    await Promise.allSettled(tasks);
  }
}

/** The namespaces to look after; all when empty. */
function watchedNamespaces({ watchNamespaces }: OperatorOptions): readonly string[] {
  const names = (watchNamespaces ?? '').split(',').map((name) => name.trim());
  return names.filter((name) => name !== '');
}

function openCaches(client: KubeClient, options: OperatorOptions, logger: Logger) {
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

function settingsOf(options: OperatorOptions): OperandSettings {
  const isInCluster =
    options.kubeconfig === undefined && process.env['KUBERNETES_SERVICE_HOST'] !== undefined;
  return {
    image: options.operandImage,
    imagePullPolicy: options.operandImagePullPolicy,
    operatorNamespace: isInCluster ? options.leaseNamespace : undefined,
  };
}

/** Reconciles until the signal is aborted. */
async function lead(foundation: Foundation, leading: AbortSignal): Promise<void> {
  const { caches, logger } = foundation;
  await Promise.all(
    Object.values(caches).map(async (cache) => {
      await cache.synced(leading);
    }),
  );
  logger.info('caches filled; reconciling');
  const store = operandStoreOf(foundation);
  const syncs = runClusterSyncs(foundation, store, leading);
  const verifications = runVerifications(foundation, store, leading);
  const queues = { clusterSyncs: syncs.add, syncVerifications: verifications.add };
  caches.clusterSyncs.addHandler(onResource(syncs.add));
  caches.clusterSyncs.addHandler(onVerifiedSync(verifications.add, caches.syncVerifications));
  caches.syncVerifications.addHandler(onResource(verifications.add));
  for (const cache of [caches.statefulSets, caches.services, caches.networkPolicies]) {
    cache.addHandler(onOwned(queues));
  }
  caches.pods.addHandler(onPod(queues));
  caches.leases.addHandler(onLease(syncs.add));
  await Promise.all([syncs.ended, verifications.ended]);
}

function operandStoreOf({ client, caches, corrections }: Foundation): OperandStore {
  return new OperandStore(client, caches, (kind) => {
    corrections.inc({ kind });
  });
}

/** A controller that runs. */
interface Running {
  /** Wants the object of a key reconciled. */
  readonly add: (key: string, isUrgent?: boolean) => void;
  readonly ended: Promise<void>;
}

function runClusterSyncs(
  foundation: Foundation,
  store: OperandStore,
  leading: AbortSignal,
): Running {
  const { client, recorder, settings, caches, latest, logger, options } = foundation;
  const namespaces = watchedNamespaces(options);
  const book = new LeaseBook(client, options.leaseNamespace, caches.leases);
  // Of a namespace that another operator looks after, it is that one's to say who is gone.
  const isWatched = (namespace: string): boolean =>
    namespaces.length === 0 || namespaces.includes(namespace);
  const isGone = (holder: LeaseHolder): boolean =>
    isWatched(holder.namespace) &&
    caches.clusterSyncs.get(holderKey(holder))?.metadata.uid !== holder.uid;
  const claims = new DestinationClaims(book, { ...caches, isGone });
  const holds = new HoldKeeper(book, new Workloads(client), isGone);
  return runController<SyncerProgress, SyncerCommand>(foundation, leading, {
    name: 'clustersync',
    api: syncerApi,
    reconcilerOf: (monitor, add) => {
      const sources = new SourceTopologies({ onChange: add, logger });
      const reconciler = new ClusterSyncReconciler({
        client,
        clusterSyncs: caches.clusterSyncs,
        store,
        monitor,
        sources,
        claims,
        holds,
        syncVerifications: caches.syncVerifications,
        recorder,
        latest,
        settings,
      });
      return { reconciler, background: [sources] };
    },
  });
}

function runVerifications(
  foundation: Foundation,
  store: OperandStore,
  leading: AbortSignal,
): Running {
  const { client, recorder, settings, caches } = foundation;
  return runController<VerifierProgress, VerifierCommand>(foundation, leading, {
    name: 'syncverification',
    api: verifierApi,
    reconcilerOf: (monitor) => {
      const reconciler = new VerificationReconciler({
        client,
        syncVerifications: caches.syncVerifications,
        clusterSyncs: caches.clusterSyncs,
        store,
        monitor,
        recorder,
        settings,
      });
      return { reconciler, background: [] };
    },
  });
}

interface ControlledKind<P, C extends string> {
  readonly name: string;
  readonly api: OperandApi<P, C>;
  /** @param add - wants the object of a key reconciled. */
  readonly reconcilerOf: (
    monitor: OperandMonitor<P, C>,
    add: (key: string) => void,
  ) => {
    readonly reconciler: { readonly reconcile: Reconcile };
    /** What works beside it, and is to end with it. */
    readonly background: readonly AsyncDisposable[];
  };
}

/** Runs a controller, and the monitor of the operands that it makes. */
function runController<P, C extends string>(
  { logger, metrics, mayAct }: Foundation,
  leading: AbortSignal,
  { name, api, reconcilerOf }: ControlledKind<P, C>,
): Running {
  const add = (key: string, isUrgent = false): void => {
    controller.queue.add(key, isUrgent);
  };
  const monitor = new OperandMonitor({ api, onChange: add, logger, mayCommand: mayAct });
  const { reconciler, background } = reconcilerOf(monitor, add);
  const controller = new Controller({
    name,
    reconcile: async (key, context) => await reconciler.reconcile(key, context),
    logger,
    metrics,
    workers,
  });
  return { add, ended: runWithBackground(controller, [monitor, ...background], leading) };
}

async function runWithBackground(
  controller: Controller,
  background: readonly AsyncDisposable[],
  leading: AbortSignal,
): Promise<void> {
  await using running = new AsyncDisposableStack();
  for (const each of background) running.use(each);
  await controller.run(leading);
}
