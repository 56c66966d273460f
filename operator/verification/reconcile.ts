import type { ClusterSync } from '../api/clustersync.ts';
import {
  syncVerifications,
  type SyncVerification,
  type SyncVerificationStatus,
} from '../api/sync-verification.ts';
import type { KubeClient } from '../kube/client.ts';
import { systemClock, type Clock } from '../kube/clock.ts';
import type { ReconcileContext, ReconcileResult } from '../kube/controller.ts';
import type { EventRecorder } from '../kube/event-recorder.ts';
import { objectKey, parseKey } from '../kube/resource.ts';
import type { LatestStatuses } from '../operand/latest-statuses.ts';
import type { OperandMonitor } from '../operand/monitor.ts';
import type { ObjectLookup } from '../operand/object-cache.ts';
import type { OperandStore } from '../operand/operand-store.ts';
import { StatusWriter } from '../operand/status-writer.ts';
import type { ConditionCause } from '../operand/condition-cause.ts';
import type { OperandSettings } from '../operand/workload.ts';
import { decide, type Decision } from './decide.ts';
import { verifierName, verifierPodName } from './resources.ts';
import { isUrgent } from './status.ts';
import type { VerifierCommand, VerifierProgress } from './verifier-client.ts';

/** What reconciling SyncVerifications needs. */
export interface VerificationReconcilerOptions {
  readonly client: KubeClient;
  readonly syncVerifications: ObjectLookup<SyncVerification>;
  readonly clusterSyncs: ObjectLookup<ClusterSync>;
  readonly store: OperandStore;
  readonly monitor: OperandMonitor<VerifierProgress, VerifierCommand>;
  readonly recorder: EventRecorder;
  /** Receives every status, for the ClusterSyncs that depend on it. */
  readonly latest: LatestStatuses<SyncVerificationStatus>;
  readonly settings: OperandSettings;
  readonly clock?: Clock;
}

/** The single process of a verification. */
const processId = 'verifier';

/** Reads the world, asks {@link decide} what to do, and does it. */
export class VerificationReconciler {
  readonly #options: VerificationReconcilerOptions;
  readonly #clock: Clock;
  readonly #status: StatusWriter<SyncVerificationStatus, SyncVerification>;

  constructor(options: VerificationReconcilerOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    const { client, latest } = options;
    this.#status = new StatusWriter(client, syncVerifications, isUrgent, this.#clock, latest);
  }

  /** One pass for the SyncVerification of a key. */
  async reconcile(key: string, { signal, logger }: ReconcileContext): Promise<ReconcileResult> {
    const { monitor, store, recorder } = this.#options;
    const cached = this.#options.syncVerifications.get(key);
    if (!cached) {
      this.pause(key);
      this.#status.forget(key);
      const { namespace, name } = parseKey(key);
      store.forget({ namespace, name: verifierName({ metadata: { name } }) });
      return {};
    }
    const verification = this.#status.current(cached);
    let decision = await this.#decide(verification, undefined, signal);
    const rejection = await store.apply(verification, decision.objects, signal);
    if (rejection) {
      logger.warn({ reason: rejection.reason }, rejection.message);
      decision = await this.#decide(verification, rejection, signal);
    }
    const { target, command, remove, isExpired, status, events, requeueAfterMs } = decision;
    monitor.watch(key, new Map(target ? [[processId, target]] : []));
    if (command) {
      logger.info({ command: command.name }, 'sending command');
      monitor.send(key, processId, command);
    }
    if (remove) await store.remove(remove, signal);
    if (isExpired) {
      logger.info('deleting it: ttlSecondsAfterFinished has passed');
      await this.#delete(cached, signal);
    }
    if (!status) return { requeueAfterMs };
    const result = await this.#status.write(verification, status, signal);
    if (result.kind === 'written') {
      for (const event of events) recorder.record({ ...event, regarding: cached });
    }
    // The next pass handles the end, once it is recorded.
    const isOver = status.completedAt !== undefined;
    if (result.kind !== 'deferred') return { requeueAfterMs: isOver ? 0 : requeueAfterMs };
    if (isOver || requeueAfterMs === undefined) return { requeueAfterMs: result.forMs };
    return { requeueAfterMs: Math.min(requeueAfterMs, result.forMs) };
  }

  /** Ends what is under way for a key whose namespace cannot be read: where its pod is is unknown. */
  pause(key: string): void {
    this.#options.monitor.forget(key);
  }

  async #delete({ metadata }: SyncVerification, signal: AbortSignal): Promise<void> {
    const { uid, resourceVersion } = metadata;
    await this.#options.client.delete(syncVerifications, metadata, {
      signal,
      propagationPolicy: 'Background',
      // Another run may just have been requested.
      preconditions: {
        ...(uid !== undefined && { uid }),
        ...(resourceVersion !== undefined && { resourceVersion }),
      },
    });
  }

  async #decide(
    verification: SyncVerification,
    rejection: ConditionCause | undefined,
    signal: AbortSignal,
  ): Promise<Decision> {
    const { settings, store, monitor } = this.#options;
    const { namespace } = verification.metadata;
    const name = verifierName(verification);
    const podName = verifierPodName(verification);
    const reference = verification.spec.clusterSyncRef.name;
    const clusterSync = this.#options.clusterSyncs.get(objectKey({ namespace, name: reference }));
    const asked = { sides: clusterSync?.spec, options: verification.spec.verifier };
    const statefulSet = store.statefulSet(verification, name);
    const pod = store.pods(verification, [podName]).get(podName);
    const refusals = await store.podRefusals(statefulSet, pod ? [] : [podName], signal);
    return decide(verification, {
      settings,
      clusterSync,
      ...(await store.secrets(verification, asked, signal)),
      ...{ statefulSet, pod },
      podRefusal: refusals.get(podName),
      observation: monitor.observations(objectKey(verification.metadata)).get(processId),
      rejection,
      nowMs: this.#clock.wallMs(),
    });
  }
}
