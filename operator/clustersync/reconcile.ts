import { checkConnectionString } from '../../mongo/connection-options.ts';
import { toSyncError } from '../../service/errors.ts';
import { clusterSyncs, type ClusterSync, type ClusterSyncStatus } from '../api/clustersync.ts';
import type { SyncVerification, SyncVerificationStatus } from '../api/sync-verification.ts';
import type { HoldKeeper } from '../commit/hold-keeper.ts';
import type { CommitStep } from '../commit/plan.ts';
import type { KubeClient } from '../kube/client.ts';
import { systemClock, type Clock } from '../kube/clock.ts';
import type { ReconcileContext, ReconcileResult } from '../kube/controller.ts';
import type { EventRecorder } from '../kube/event-recorder.ts';
import { isConflict, isNotFound } from '../kube/kube-error.ts';
import { objectKey, parseKey } from '../kube/resource.ts';
import { holderOf, type LeaseHolder } from '../leases/lease-holder.ts';
import type { ApiError } from '../operand/http-api.ts';
import type { OperandMonitor } from '../operand/monitor.ts';
import type { LatestStatuses } from '../operand/latest-statuses.ts';
import type { ObjectLookup } from '../operand/object-cache.ts';
import type { SecretValue } from '../operand/credentials.ts';
import { secretsHashOf } from '../operand/operand-secrets.ts';
import type { OperandStore } from '../operand/operand-store.ts';
import { StatusWriter, type WriteResult } from '../operand/status-writer.ts';
import type { OperandSettings } from '../operand/workload.ts';
import type { CommitWorld } from './commit-facts.ts';
import { decide } from './decide.ts';
import type { Decision, World } from './decision.ts';
import type { Claim, DestinationClaims } from './destination-claims.ts';
import { destinationHosts } from './destination-hosts.ts';
import { destinationProof, type DestinationProof, type ProofInput } from './destination-proof.ts';
import type { DestinationWish } from './destination-keys.ts';
import { LostPodKeeper } from './lost-pod-keeper.ts';
import { isAtRest, isLetGo, isReplaced } from './on-record.ts';
import { delayAfter, nextStepMs, releaseAgainMs } from './requeue-delay.ts';
import { leftBehind } from './reset.ts';
import { instancesOf, syncerName } from './resources.ts';
import type { SourceTopologies, SourceView } from './source-topologies.ts';
import type { StartChecks } from './start-checks.ts';
import { isUrgent } from './status.ts';
import { verificationsFor } from './verification-gate.ts';
import type { SyncerCommand, SyncerProgress } from './syncer-client.ts';

/** What reconciling ClusterSyncs needs. */
export interface ClusterSyncReconcilerOptions {
  readonly client: KubeClient;
  readonly clusterSyncs: ObjectLookup<ClusterSync>;
  readonly store: OperandStore;
  readonly monitor: OperandMonitor<SyncerProgress, SyncerCommand>;
  readonly sources: SourceTopologies;
  readonly checks: StartChecks;
  readonly claims: DestinationClaims;
  readonly holds: HoldKeeper;
  readonly syncVerifications: ObjectLookup<SyncVerification>;
  /** Their statuses, including those not written yet. */
  readonly latestVerifications: LatestStatuses<SyncVerificationStatus>;
  readonly recorder: EventRecorder;
  /** Receives every status, for the metrics. */
  readonly latest: LatestStatuses<ClusterSyncStatus>;
  readonly settings: OperandSettings;
  readonly clock?: Clock;
}

/** What is known about a connection string. */
interface KnownString {
  readonly uri: string;
  /** What its servers receive, see {@link destinationHosts}. */
  readonly serverName: string | undefined;
  readonly hosts: ReturnType<typeof destinationHosts>;
  /** Where it led the last syncers that read it; empty before they have reported it. */
  readonly deployments: DestinationProof['deployments'];
}

/** What a pass has seen in addition to what it always reads. */
type Seen = Pick<World, 'rejection' | 'nodes' | 'undeleted'>;

/** Reads the world, asks {@link decide} what to do, and does it. */
export class ClusterSyncReconciler {
  readonly #options: ClusterSyncReconcilerOptions;
  readonly #clock: Clock;
  readonly #status: StatusWriter<ClusterSyncStatus, ClusterSync>;
  readonly #lostPods: LostPodKeeper;
  /** The connection strings read last: they are the same in almost every pass. */
  readonly #strings = new Map<string, KnownString>();
  /** The ClusterSyncs as they were last seen. */
  readonly #present = new Map<string, ClusterSync>();
  /** The ClusterSyncs whose namesakes have left nothing behind. */
  readonly #settledUids = new Map<string, string>();

  constructor(options: ClusterSyncReconcilerOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    const { client, latest, store, recorder } = options;
    this.#lostPods = new LostPodKeeper(store, recorder);
    this.#status = new StatusWriter(client, clusterSyncs, isUrgent, this.#clock, latest);
  }

  /** One pass for the ClusterSync of a key. */
  async reconcile(key: string, { signal, logger }: ReconcileContext): Promise<ReconcileResult> {
    const { monitor, store, recorder, holds } = this.#options;
    const cached = this.#options.clusterSyncs.get(key);
    this.#tellOfLeft(key, cached);
    const isLeft = await this.#releaseFormer(key, cached?.metadata.uid, signal);
    if (!cached) {
      this.pause(key);
      this.#strings.delete(key);
      this.#status.forget(key);
      const { namespace, name } = parseKey(key);
      store.forget({ namespace, name: syncerName({ metadata: { name } }) });
      return isLeft ? { requeueAfterMs: releaseAgainMs } : {};
    }
    const clusterSync = this.#status.current(cached);
    this.#present.set(key, clusterSync);
    let decision = await this.#decide(clusterSync, {}, signal);
    const take = async (step: CommitStep): Promise<boolean> => {
      logger.info({ step }, 'automatic commit');
      return await holds.take(step, holderOf(clusterSync), signal);
    };
    if (this.#isBeforePublishing(clusterSync, decision.commit)) {
      if (!(await take(decision.commit))) return { requeueAfterMs: nextStepMs };
      decision = await this.#decide(clusterSync, {}, signal);
    }
    if (decision.finalizers) {
      await this.#setFinalizers(clusterSync, decision, signal);
      return { requeueAfterMs: nextStepMs };
    }
    if (decision.toStop) await store.stop(decision.toStop, signal);
    const rejection = await store.apply(clusterSync, decision.objects, signal);
    if (rejection) {
      logger.warn({ reason: rejection.reason }, rejection.message);
      decision = await this.#decide(clusterSync, { rejection }, signal);
      if (decision.toStop) await store.stop(decision.toStop, signal);
    }
    let seen: Seen = { rejection };
    if (decision.nodesToRead.length > 0) {
      seen = { ...seen, nodes: await this.#lostPods.read(decision.nodesToRead, signal) };
      decision = await this.#decide(clusterSync, seen, signal);
    }
    if (decision.lostPods.length > 0) {
      logger.warn({ pods: decision.lostPods.map(({ name }) => name) }, 'replacing lost pods');
      const undeleted = await this.#lostPods.remove(clusterSync, decision.lostPods, signal);
      seen = { ...seen, undeleted };
      decision = await this.#decide(clusterSync, seen, signal);
    }
    if (decision.commit.kind === 'look') {
      const asked = clusterSync.spec.commit.workloads ?? [];
      const held = holds.holdOf(clusterSync)?.workloads ?? [];
      const workloads = await holds.look(clusterSync, [...asked, ...held], signal);
      decision = await this.#decide(clusterSync, { ...seen, workloads }, signal);
    } else if (decision.commands.some(({ command }) => command.name === 'commit')) {
      // Its window may be over by now, and what it rests on old.
      decision = await this.#decide(clusterSync, seen, signal);
    }
    // Reading and writing objects can take long: what was decided for another spec is sent to nobody.
    if (isReplaced(clusterSync, this.#options.clusterSyncs.get(key)))
      return { requeueAfterMs: nextStepMs };
    monitor.watch(key, decision.targets);
    this.#options.sources.watch(key, decision.sourceTarget);
    this.#options.checks.watch(key, decision.check);
    for (const { id, command } of decision.commands) {
      logger.info({ instance: id, command: command.name }, 'sending command');
      monitor.send(key, id, command);
    }
    const { commit, status, events, requeueAfterMs } = decision;
    // It has come to be due in this pass.
    if (this.#isBeforePublishing(clusterSync, commit)) return { requeueAfterMs: nextStepMs };
    if (!decision.isStatusPending) this.#present.set(key, { ...clusterSync, status });
    let result: WriteResult | undefined;
    if (!decision.isStatusPending || !clusterSync.status) {
      result = await this.#status.write(clusterSync, status, signal);
      if (result.kind === 'written') {
        for (const event of events) recorder.record({ ...event, regarding: cached });
      }
    }
    if (!isChange(commit)) return { requeueAfterMs: delayAfter(requeueAfterMs, isLeft, result) };
    await take(commit);
    return { requeueAfterMs: nextStepMs };
  }

  /** Whether a step records what becomes of the workloads after a commit: it comes before that is published, and before a deletion. */
  #isBeforePublishing(clusterSync: ClusterSync, step: CommitStep): boolean {
    if (step.kind !== 'record') return false;
    return step.hold.afterCommit !== this.#options.holds.holdOf(clusterSync)?.afterCommit;
  }

  /** Ends what is under way for a key whose namespace cannot be read: where its pods are is unknown. */
  pause(key: string): void {
    const { monitor, sources, checks } = this.#options;
    monitor.forget(key);
    sources.forget(key);
    checks.forget(key);
    this.#settledUids.delete(key);
  }

  /**
   * Releases the claims and holds of deleted ClusterSyncs of this name: once for each, and when an operator starts.
   * @returns whether something is left.
   */
  async #releaseFormer(
    key: string,
    uid: string | undefined,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { claims, holds } = this.#options;
    if (uid !== undefined && this.#settledUids.get(key) === uid) return false;
    const isHeld = await holds.release(key, signal);
    const isClaimed = await claims.release(key, signal);
    if (isHeld || isClaimed) return true;
    if (uid === undefined) this.#settledUids.delete(key);
    else this.#settledUids.set(key, uid);
    return false;
  }

  /** Reports what a ClusterSync that is gone by now has left behind. */
  #tellOfLeft(key: string, cached: ClusterSync | undefined): void {
    const former = this.#present.get(key);
    if (!former || former.metadata.uid === cached?.metadata.uid) return;
    this.#present.delete(key);
    const note = leftBehind(former);
    if (note === undefined) return;
    const event = { type: 'Warning', reason: 'LeftUnfinished', action: 'Delete', note } as const;
    this.#options.recorder.record({ ...event, regarding: former });
  }

  async #setFinalizers(
    clusterSync: ClusterSync,
    {
      finalizers,
      isEnded,
      isReset,
      isLeft,
    }: Pick<Decision, 'finalizers' | 'isEnded' | 'isReset' | 'isLeft'>,
    signal: AbortSignal,
  ): Promise<void> {
    const { client, recorder } = this.#options;
    const { metadata, spec } = clusterSync;
    const { resourceVersion } = metadata;
    // What is left is reported once it is gone: see #tellOfLeft.
    if (isEnded && !isLeft && spec.onDelete !== 'Keep') {
      const note = `the sync is cleaned up (spec.onDelete: ${spec.onDelete})`;
      const event = { type: 'Normal', reason: 'Reset', action: 'Delete', note } as const;
      if (isReset) recorder.record({ ...event, regarding: clusterSync });
      this.#present.delete(objectKey(metadata));
    }
    const patch = {
      metadata: { finalizers, ...(resourceVersion !== undefined && { resourceVersion }) },
    };
    try {
      await client.patch(clusterSyncs, metadata, patch, { signal });
    } catch (error) {
      // Read again: it may have changed by now.
      if (!isConflict(error) && !isNotFound(error)) throw error;
    }
  }

  async #decide(
    clusterSync: ClusterSync,
    { workloads, ...seen }: Seen & Partial<Pick<CommitWorld, 'workloads'>>,
    signal: AbortSignal,
  ): Promise<Decision> {
    const { settings, store, monitor, holds } = this.#options;
    const { syncVerifications, latestVerifications } = this.#options;
    const { spec, metadata } = clusterSync;
    const name = syncerName(clusterSync);
    // There is nothing left to do for it.
    const mayBeOld = isAtRest(clusterSync);
    const asked = { sides: spec, options: spec.syncer, mayBeOld };
    const secrets = await store.secrets(clusterSync, asked, signal);
    const podNames = instancesOf(clusterSync).map(({ podName }) => podName);
    const pods = store.pods(clusterSync, podNames);
    const statefulSet = store.statefulSet(clusterSync, name);
    const observations = monitor.observations(objectKey(metadata));
    const secretsHash = secretsHashOf(secrets, undefined);
    const input = { token: secrets.token, secretsHash, pods, observations };
    return decide(clusterSync, {
      settings,
      ...secrets,
      sourceView: this.#viewOf(clusterSync, secrets.source),
      check: this.#options.checks.view(objectKey(metadata)),
      claim: await this.#claim(clusterSync, secrets.destination, input, signal),
      commit: {
        hold: holds.holdOf(clusterSync),
        workloads,
        isHeardOf: (one) => latestVerifications.has(one),
        verifications: mayBeOld
          ? []
          : verificationsFor(clusterSync, syncVerifications.list()).map((one) =>
              latestVerifications.newest(one),
            ),
      },
      ...{ statefulSet, pods },
      podRefusals: await store.podRefusals(
        statefulSet,
        podNames.filter((podName) => !pods.has(podName)),
        signal,
      ),
      observations,
      ...seen,
      nowMs: this.#clock.wallMs(),
    });
  }

  #viewOf(clusterSync: ClusterSync, uri: SecretValue | undefined): SourceView {
    const error = uri?.kind === 'found' ? refusalOf(connectionString(uri.value)) : undefined;
    if (error) return { kind: 'refused', error };
    return this.#options.sources.view(objectKey(clusterSync.metadata));
  }

  async #claim(
    clusterSync: ClusterSync,
    uri: SecretValue | undefined,
    input: ProofInput,
    signal: AbortSignal,
  ): Promise<Claim> {
    const { claims } = this.#options;
    const known =
      uri?.kind === 'found'
        ? this.#knownString(clusterSync, connectionString(uri.value))
        : undefined;
    const wish = this.#wishOf(clusterSync, known, input);
    if (clusterSync.spec.suspend || isLetGo(clusterSync)) {
      // Nothing is started; but pods whose destination belongs to another ClusterSync are ended, whatever the owner asks for.
      const standing = claims.standing(clusterSync, wish);
      const isLost = standing.kind === 'broken' || standing.kind === 'taken';
      return isLost ? standing : { kind: 'none' };
    }
    const claim = await claims.claim(clusterSync, wish, signal);
    if (known && !known.hosts && (claim.kind === 'held' || claim.kind === 'open'))
      return { kind: 'unreadable', isHeld: claim.kind === 'held' };
    if (claim.kind === 'held' && claim.takenFrom)
      this.#tellOfTakeover(clusterSync, claim.takenFrom);
    return claim;
  }

  /** Tells both that the destination has changed hands. Neither learns who the other one is. */
  #tellOfTakeover(clusterSync: ClusterSync, { namespace, name, uid }: LeaseHolder): void {
    const { recorder } = this.#options;
    const event = { reason: 'DestinationTakenOver', action: 'Claim' } as const;
    const won =
      'an administrator has broken the claim of another ClusterSync: the destination now belongs to this one';
    recorder.record({ ...event, type: 'Normal', note: won, regarding: clusterSync });
    const former = this.#options.clusterSyncs.get(objectKey({ namespace, name }));
    if (former?.metadata.uid !== uid) return;
    const lost =
      'an administrator has broken the claim of this ClusterSync: its destination now belongs to another one';
    recorder.record({ ...event, type: 'Warning', note: lost, regarding: former });
  }

  /** What is wanted. Pods that were ended because another one has their destination are not started again to find the same. */
  #wishOf(
    clusterSync: ClusterSync,
    known: KnownString | undefined,
    input: ProofInput,
  ): DestinationWish {
    const named = known?.hosts ?? [];
    const proof = destinationProof(clusterSync, input, named);
    if (!known) return { named, proof };
    if (proof.deployments.length === 0)
      return { named, proof: { ...proof, deployments: known.deployments } };
    const { deployments } = proof;
    this.#strings.set(objectKey(clusterSync.metadata), { ...known, deployments });
    return { named, proof };
  }

  #knownString({ metadata, spec }: ClusterSync, uri: string): KnownString {
    const key = objectKey(metadata);
    const known = this.#strings.get(key);
    const serverName = spec.destination.tls?.serverName;
    if (known?.uri === uri && known.serverName === serverName) return known;
    const hosts = destinationHosts(uri, metadata.namespace ?? '', serverName);
    const first = { uri, serverName, hosts, deployments: [] };
    this.#strings.set(key, first);
    return first;
  }
}

/** Whether a step changes anything: then the world is read again. */
function isChange({ kind }: CommitStep): boolean {
  return kind === 'record' || kind === 'scale' || kind === 'drop';
}

/** Why no syncer could use a connection string; undefined if one may be able to. Looks only at its text. */
function refusalOf(uri: string): ApiError | undefined {
  try {
    checkConnectionString(uri, { option: 'the connection string', refusesFiles: true });
    return undefined;
  } catch (error) {
    const { name, message } = toSyncError(error);
    return { name, description: message, isLasting: true };
  }
}

/** As the syncer reads it from its file. */
function connectionString(base64: string): string {
  return Buffer.from(base64, 'base64').toString().trim();
}
