import type { ClusterSyncStatus } from '../api/clustersync.ts';
import type { CommitStep } from '../commit/plan.ts';
import type { Pod, StatefulSet } from '../kube/builtin-resources.ts';
import type { EventDraft } from '../kube/event-recorder.ts';
import type { ConditionCause } from '../operand/condition-cause.ts';
import type { MonitorTarget } from '../operand/monitor.ts';
import type { Observation } from '../operand/observation.ts';
import type { OperandSecrets } from '../operand/operand-secrets.ts';
import type { PodRefusal } from '../operand/pod-refusals.ts';
import type { OperandObjects, OperandSettings } from '../operand/workload.ts';
import type { InstanceCommand } from './commands.ts';
import type { CommitWorld } from './commit-facts.ts';
import type { Claim } from './destination-claims.ts';
import type { LostPod, NodeView } from './lost-pods.ts';
import type { SourceView } from './source-topologies.ts';
import type { CheckRequest, CheckView } from './start-checks.ts';
import type { SyncerCommand, SyncerProgress } from './syncer-client.ts';

/** Everything that a decision depends on, apart from the resource. */
export interface World extends OperandSecrets {
  readonly nowMs: number;
  readonly settings: OperandSettings;
  /** Whether the destination belongs to this ClusterSync. */
  readonly claim: Claim;
  readonly commit: CommitWorld;
  /** What is known of the source. */
  readonly sourceView: SourceView;
  /** What the last check before the start has found. */
  readonly check: CheckView;
  readonly statefulSet: StatefulSet | undefined;
  /** Why pods that do not exist have not been created, by their names. */
  readonly podRefusals?: ReadonlyMap<string, PodRefusal>;
  /** By name. */
  readonly pods: ReadonlyMap<string, Pod>;
  /** By the id of the instance. */
  readonly observations: ReadonlyMap<string, Observation<SyncerProgress, SyncerCommand>>;
  /** Why the API server rejected the objects. */
  readonly rejection?: ConditionCause | undefined;
  /** The nodes of pods that may be lost, by name; undefined if they have not been read. */
  readonly nodes?: ReadonlyMap<string, NodeView> | undefined;
  /** Why the API server has refused to delete pods, by their UIDs. */
  readonly undeleted?: ReadonlyMap<string, string> | undefined;
}

/** What to do. */
export interface Decision {
  readonly objects: OperandObjects | undefined;
  /** Scale down to no pods. */
  readonly toStop: StatefulSet | undefined;
  /** The nodes to read before it is known which pods are lost. */
  readonly nodesToRead: readonly string[];
  /** Pods to delete, which their nodes do not end. */
  readonly lostPods: readonly LostPod[];
  /** The processes to observe, by the id of the instance. */
  readonly targets: ReadonlyMap<string, MonitorTarget>;
  /** The process to ask for the topology of the source. */
  readonly sourceTarget: MonitorTarget | undefined;
  /** What to ask a syncer before the start. */
  readonly check: CheckRequest | undefined;
  /** Commands to send, all at the same time. */
  readonly commands: readonly InstanceCommand[];
  /** The finalizers that the resource should have; undefined if it has them. */
  readonly finalizers: readonly string[] | undefined;
  /** Whether everything that a deletion requires is done. */
  readonly isEnded: boolean;
  /** Whether a reset has ended the sync for it. */
  readonly isReset: boolean;
  /** Whether something may be left nevertheless. */
  readonly isLeft: boolean;
  /** For an automatic commit. */
  readonly commit: CommitStep;
  readonly status: ClusterSyncStatus;
  /** True while a process has not been asked for the first time: until then the previous status is the best there is. */
  readonly isStatusPending: boolean;
  readonly events: readonly Omit<EventDraft, 'regarding'>[];
  readonly requeueAfterMs: number;
}
