import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { startDashboard, type DashboardServer } from '../dashboard/server/dashboard-server.ts';
import { SyncError } from '../service/errors.ts';
import { startHttpServer } from '../service/http-server.ts';
import { jsonValue } from '../service/json-text.ts';
import type { Logger } from '../service/logger.ts';
import { reconcileAll } from './controllers.ts';
import { OperatorSource } from './dashboard/operator-source.ts';
import {
  isInUse,
  openCaches,
  operandStoreOf,
  watchedBy,
  watchedNamespaces,
  type OperatorRuntime,
} from './operator-runtime.ts';
import { KubeClient } from './kube/client.ts';
import { EventRecorder } from './kube/event-recorder.ts';
import { loadKubeConfig } from './kube/transport.ts';
import { LeaderElector } from './kube/leader-election.ts';
import { KubeMetrics } from './kube/metrics.ts';
import type { KubeObject } from './kube/resource.ts';
import { OwnedNamespaces } from './leases/owned-namespaces.ts';
import { correctionCounter, registerNamespaceMetrics, registerResourceMetrics } from './metrics.ts';
import { LatestStatuses } from './operand/latest-statuses.ts';
import { TokenKey } from './operand/token-key.ts';
import { isPodField, overlayFields } from './operand/pod-template.ts';
import type { NetworkPolicyPeer, OperandSettings } from './operand/workload.ts';
import { namesIn, type OperatorOptions } from './options.ts';
import { workNamespaces } from './work-namespaces.ts';

const controllerName = 'clustersync.dev/operator';

/** How many times longer than its own Lease that of a namespace lasts: there are many of them, and a takeover is not urgent. */
const ownershipDurations = 4;

/**
 * Runs the operator until the signal is aborted.
 * @param onListening - receives the port of health and metrics, and that of the dashboard, if there is one.
 * @throws LeadershipLostError if another operator may lead: the process must end.
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
  // The Lease has its own connections, so that it waits for nothing else.
  using electing = new KubeClient(config, metrics);
  const elector = options.leaderElect ? electorOf(electing, options, logger, metrics) : undefined;
  // A frozen process resumes in the middle of its work: it must notice on its own that its lease has ended.
  const mayAct = (): boolean => elector?.isLeader ?? true;
  using ownClient = new KubeClient(config, metrics, { mayWrite: mayAct });
  using client = new KubeClient(config, metrics, {
    mayWrite: (namespace) => mayAct() && (namespace === undefined || owned.isOwned(namespace)),
  });
  const recorder = new EventRecorder({
    client: ownClient,
    logger,
    controller: controllerName,
    instance: hostname(),
  });
  const caches = openCaches(client, options, logger);
  const watched = watchedBy(caches, options, logger);
  const owned = new OwnedNamespaces({
    client: ownClient,
    identity: `${options.leaseNamespace}/${options.leaseName}`,
    leaseDurationMs: options.leaseDurationSeconds * ownershipDurations * 1_000,
    isInUse: (namespace) => isInUse(caches, namespace),
    isKnown: (namespace) => watched.isKnown(namespace),
    logger,
  });
  watched.onChange(() => {
    owned.tryAgain();
  });
  const namespaces = workNamespaces(watched, owned);
  const runtime: OperatorRuntime = {
    options,
    logger,
    client,
    ownClient,
    mayAct,
    metrics,
    recorder,
    caches,
    watched,
    owned,
    namespaces,
    latest: new LatestStatuses(),
    corrections: correctionCounter(registry),
    settings: settingsOf(options),
    tokenKey: new TokenKey(
      ownClient,
      { namespace: options.leaseNamespace, name: options.apiKeySecret },
      logger,
    ),
  };
  registerResourceMetrics(registry, {
    isKnown: ({ metadata }: KubeObject) => namespaces.mayWork(metadata.namespace ?? ''),
    ...{ ...caches, latest: runtime.latest, isActive: mayAct },
  });
  registerNamespaceMetrics(registry, {
    named: () => watched.named(),
    owned: () => (mayAct() ? owned.owned() : new Map()),
  });
  const whyNotReady = (): string | undefined =>
    watched.whyNotReady() ??
    owned.whyNotReady() ??
    (elector?.isInTouch() === false
      ? 'the leader election cannot reach the API server'
      : undefined);
  await using server = await startHttpServer({
    host: options.host,
    port: options.port,
    routes: [],
    logger,
    metrics: registry,
    isReady: () => whyNotReady() === undefined,
    whyNotReady,
    isAlive: () => elector?.isAlive() ?? true,
  });
  await using dashboard = options.dashboard ? await openDashboard(runtime) : undefined;
  onListening?.(server.port, dashboard?.port);
  await together(signal, (stopping) => [
    ...Object.values(caches).map(async (cache) => {
      await cache.run(stopping);
    }),
    recorder.run(stopping),
    elector
      ? elector.run(stopping, async (leading) => {
          await reconcileAll(runtime, leading);
        })
      : reconcileAll(runtime, stopping),
  ]);
}

async function openDashboard(runtime: OperatorRuntime): Promise<DashboardServer> {
  const { options, client, caches, watched, namespaces, latest, logger, mayAct } = runtime;
  return await startDashboard({
    host: options.dashboardHost,
    port: options.dashboardPort,
    token: options.dashboardToken,
    docsUrl: options.docsUrl,
    logger,
    source: new OperatorSource({
      ...caches,
      client,
      latest,
      store: operandStoreOf(runtime),
      namespaces: watchedNamespaces(options),
      watched,
      isActive: mayAct,
      mayWork: namespaces.mayWork,
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
    // 15 s, 10 s and 2 s are common among operators.
    leaseDurationMs,
    renewDeadlineMs: (leaseDurationMs * 10) / 15,
    retryPeriodMs: (leaseDurationMs * 2) / 15,
  });
}

/** Runs tasks until all have ended. If one fails, the others are ended, too. */
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

function settingsOf(options: OperatorOptions): OperandSettings {
  const isInCluster =
    options.kubeconfig === undefined && process.env['KUBERNETES_SERVICE_HOST'] !== undefined;
  return {
    image: options.operandImage,
    imagePullPolicy: options.operandImagePullPolicy,
    images: namesIn(options.operandImages),
    podFields: podFieldsOf(options),
    egress: egressOf(options),
    operatorNamespace: isInCluster ? options.leaseNamespace : undefined,
  };
}

function podFieldsOf({ operandPodFields }: OperatorOptions): string[] {
  const fields = namesIn(operandPodFields);
  const unknown = fields.find((field) => !isPodField(field));
  if (unknown === undefined) return fields;
  const expected = `expected any of ${overlayFields.join(', ')}, and =value only after a field whose value is a string`;
  throw new SyncError('InvalidOption', `--operandPodFields: ${unknown}: ${expected}`);
}

/** The API server validates its fields when a NetworkPolicy is created. */
function egressOf({ operandEgress }: OperatorOptions): readonly NetworkPolicyPeer[] | undefined {
  if (operandEgress === undefined) return undefined;
  const peers = jsonValue(operandEgress);
  // A rule without peers would allow all.
  if (!Array.isArray(peers) || peers.length === 0)
    throw new SyncError('InvalidOption', '--operandEgress: expected a list of peers, as JSON');
  return peers as NetworkPolicyPeer[];
}
