import type { SyncVerificationStatus } from './api/sync-verification.ts';
import { DestinationClaims } from './clustersync/destination-claims.ts';
import { holderSight } from './clustersync/holder-sight.ts';
import { ClusterSyncReconciler } from './clustersync/reconcile.ts';
import { SourceTopologies } from './clustersync/source-topologies.ts';
import { StartChecks } from './clustersync/start-checks.ts';
import { syncerApi, type SyncerCommand, type SyncerProgress } from './clustersync/syncer-client.ts';
import { HoldKeeper } from './commit/hold-keeper.ts';
import { Workloads } from './commit/workloads.ts';
import { operandStoreOf, type OperatorRuntime } from './operator-runtime.ts';
import { commandRule } from './work-namespaces.ts';
import { Controller, type Reconcile } from './kube/controller.ts';
import { objectKey, type KubeObject } from './kube/resource.ts';
import { LeaseBook } from './leases/lease-book.ts';
import { LatestStatuses } from './operand/latest-statuses.ts';
import type { ObjectLookup } from './operand/object-cache.ts';
import { OperandMonitor, type OperandApi } from './operand/monitor.ts';
import type { OperandStore } from './operand/operand-store.ts';
import { QuestionTurns } from './operand/question-turns.ts';
import { onOwnable, tellOfOthers } from './other-operators.ts';
import { PostponedKeys } from './postponed-keys.ts';
import { onLease, onOwned, onPod, onResource, onVerification, onVerifiedSync } from './triggers.ts';
import { VerificationReconciler } from './verification/reconcile.ts';
import {
  verifierApi,
  type VerifierCommand,
  type VerifierProgress,
} from './verification/verifier-client.ts';

/** Concurrent reconciles of a kind: they mostly wait for the API server. */
const workers = 8;
/** The rest is left to other namespaces, so that one namespace cannot block the others. */
const workersPerNamespace = 4;

/** Reconciles the resources of both kinds until the signal is aborted: those of each namespace from when its caches are filled. */
export async function reconcileAll(runtime: OperatorRuntime, leading: AbortSignal): Promise<void> {
  const { caches, logger, tokenKey, owned } = runtime;
  await tokenKey.establish(leading);
  // Who has which destination is known for all namespaces, or for none.
  await caches.leases.synced(leading);
  logger.info('reconciling');
  const store = operandStoreOf(runtime);
  const turns = new QuestionTurns();
  const latestVerifications = new LatestStatuses<SyncVerificationStatus>();
  const shared = { store, turns, latestVerifications };
  const syncs = runClusterSyncs(runtime, shared, leading);
  const verifications = runVerifications(runtime, shared, leading);
  const queues = { clusterSyncs: syncs.add, syncVerifications: verifications.add };
  // Before a resource is queued, its namespace is to be owned.
  for (const cache of [caches.clusterSyncs, caches.syncVerifications])
    cache.addHandler(onOwnable(runtime));
  tellOfOthers(runtime);
  caches.clusterSyncs.addHandler(onResource(syncs.add));
  caches.clusterSyncs.addHandler(onVerifiedSync(verifications.add, caches.syncVerifications));
  caches.syncVerifications.addHandler(onResource(verifications.add));
  caches.syncVerifications.addHandler(onVerification(syncs.add, caches.clusterSyncs));
  for (const cache of [caches.statefulSets, caches.services, caches.networkPolicies]) {
    cache.addHandler(onOwned(queues));
  }
  caches.pods.addHandler(onPod(queues));
  caches.leases.addHandler(onLease(syncs.add));
  await Promise.all([syncs.ended, verifications.ended, owned.run(leading)]);
}

/** A running controller. */
interface Running {
  /** Queues the object of a key. */
  readonly add: (key: string, isUrgent?: boolean) => void;
  readonly ended: Promise<void>;
}

/** What the controllers of both kinds share. */
interface Shared {
  readonly store: OperandStore;
  readonly turns: QuestionTurns;
  readonly latestVerifications: LatestStatuses<SyncVerificationStatus>;
}

function runClusterSyncs(
  runtime: OperatorRuntime,
  { store, turns, latestVerifications }: Shared,
  leading: AbortSignal,
): Running {
  const { client, recorder, settings, caches, watched, latest, logger, options } = runtime;
  const book = new LeaseBook(runtime.ownClient, options.leaseNamespace, caches.leases);
  const { isGone, isUnseen } = holderSight(watched, caches.clusterSyncs);
  const claims = new DestinationClaims(book, { ...caches, isGone, isUnseen });
  const holds = new HoldKeeper(book, new Workloads(client), {
    isGone,
    isAtWork: (holder) => claims.isAtWork(holder),
  });
  return runController<SyncerProgress, SyncerCommand>(runtime, leading, {
    name: 'clustersync',
    objects: caches.clusterSyncs,
    turns,
    api: syncerApi,
    reconcilerOf: (monitor, add) => {
      const sources = new SourceTopologies({ onChange: add, logger, turns });
      const checks = new StartChecks({ onChange: add, logger });
      const reconciler = new ClusterSyncReconciler({
        client,
        clusterSyncs: caches.clusterSyncs,
        store,
        monitor,
        sources,
        checks,
        claims,
        holds,
        syncVerifications: caches.syncVerifications,
        latestVerifications,
        recorder,
        latest,
        settings,
      });
      return { reconciler, background: [sources, checks] };
    },
  });
}

function runVerifications(
  runtime: OperatorRuntime,
  { store, turns, latestVerifications }: Shared,
  leading: AbortSignal,
): Running {
  const { client, recorder, settings, caches } = runtime;
  return runController<VerifierProgress, VerifierCommand>(runtime, leading, {
    name: 'syncverification',
    objects: caches.syncVerifications,
    turns,
    api: verifierApi,
    reconcilerOf: (monitor) => {
      const reconciler = new VerificationReconciler({
        client,
        syncVerifications: caches.syncVerifications,
        clusterSyncs: caches.clusterSyncs,
        store,
        monitor,
        recorder,
        latest: latestVerifications,
        settings,
      });
      return { reconciler, background: [] };
    },
  });
}

interface ControlledKind<P, C extends string> {
  readonly name: string;
  readonly objects: ObjectLookup<KubeObject>;
  readonly turns: QuestionTurns;
  readonly api: OperandApi<P, C>;
  /** @param add - queues the object of a key. */
  readonly reconcilerOf: (
    monitor: OperandMonitor<P, C>,
    add: (key: string) => void,
  ) => {
    readonly reconciler: {
      readonly reconcile: Reconcile;
      /** Ends what is under way for a key, until it is reconciled again. */
      readonly pause: (key: string) => void;
    };
    /** Runs beside it, and ends with it. */
    readonly background: readonly AsyncDisposable[];
  };
}

/** Runs a controller, and the monitor of its operands. */
function runController<P, C extends string>(
  { logger, metrics, mayAct, namespaces }: OperatorRuntime,
  leading: AbortSignal,
  { name, objects, turns, api, reconcilerOf }: ControlledKind<P, C>,
): Running {
  const add = (key: string, isUrgent = false): void => {
    controller.queue.add(key, isUrgent);
  };
  const mayCommand = commandRule(mayAct, namespaces);
  const monitor = new OperandMonitor({ api, onChange: add, logger, turns, mayCommand });
  const { reconciler, background } = reconcilerOf(monitor, add);
  const cached = (): string[] => objects.list().map(({ metadata }) => objectKey(metadata));
  const postponed = new PostponedKeys({ namespaces, cached, add });
  const controller = new Controller({
    name,
    reconcile: async (key, context) => {
      const result = postponed.postpone(key)
        ? { isPostponed: true }
        : await reconciler.reconcile(key, context);
      // What was decided when the operator had just lost its namespace is decided again.
      if (postponed.postpone(key)) reconciler.pause(key);
      return result;
    },
    logger,
    metrics,
    workers,
    workersPerNamespace,
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
