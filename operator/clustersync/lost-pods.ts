import type { ClusterSync } from '../api/clustersync.ts';
import type { Node, Pod } from '../kube/builtin-resources.ts';
import { isOverdue } from '../operand/pod-state.ts';
import type { OperandSettings } from '../operand/workload.ts';

/** What is known about a node. */
export type NodeView =
  | { readonly kind: 'found'; readonly ready: string; readonly sinceMs: number }
  | { readonly kind: 'gone' }
  /** Why the API server does not show it. */
  | { readonly kind: 'refused'; readonly why: string };

/** What a replacement depends on, apart from the pod. */
export interface LostPodWorld {
  readonly nowMs: number;
  readonly settings: Pick<OperandSettings, 'image'>;
  /** By name; undefined if they have not been read. */
  readonly nodes?: ReadonlyMap<string, NodeView> | undefined;
  /** Why the API server has refused to delete pods, by their UIDs. */
  readonly undeleted?: ReadonlyMap<string, string> | undefined;
}

/** A pod to delete: this one, as it was observed. */
export interface LostPod {
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly node: string;
}

/** What to do about a pod. */
export type LostPodPlan =
  /** It is not lost, or is not to be replaced. */
  | { readonly kind: 'none' }
  /** Its node is to be read. */
  | { readonly kind: 'look'; readonly node: string }
  | { readonly kind: 'wait'; readonly untilMs: number; readonly afterSeconds: number }
  | { readonly kind: 'refuse'; readonly why: string }
  | { readonly kind: 'delete'; readonly pod: LostPod };

const none = { kind: 'none' } as const;

/** Says which right the operator lacks, and what gives it. */
export function lacksRight(what: string): string {
  return `it may not ${what}; the chart's value replaceLostPods.enabled lets it`;
}

/**
 * Whether a syncer's pod is to be deleted though its process may still run. That is safe for a process that writes only while the
 * destination confirms that it owns its instance, and that waits, when it takes an instance over, until the one before can write no
 * more: the operator's own program, of this release. It is not known of any other image.
 */
export function planLostPod(
  pod: Pod,
  { spec }: Pick<ClusterSync, 'spec'>,
  { nowMs, settings, nodes, undeleted }: LostPodWorld,
): LostPodPlan {
  const { replaceLostPodsAfterSeconds: afterSeconds, image: wanted } = spec.syncer;
  const { name, uid, resourceVersion, deletionTimestamp = '', finalizers = [] } = pod.metadata;
  const node = pod.spec?.nodeName;
  if (afterSeconds === undefined || node === undefined || !isOverdue(pod, nowMs)) return none;
  if (uid === undefined || resourceVersion === undefined) return none;
  const images = [imageOf(pod) ?? 'an unknown one', wanted ?? settings.image];
  const other = images.find((image) => image !== settings.image);
  if (other !== undefined)
    return refused(`only its own image ${settings.image} is known to be safe, not ${other}`);
  if (finalizers.length > 0)
    return refused(`it would stay because of its finalizers: ${finalizers.join(', ')}`);
  const view = nodes?.get(node);
  if (!view) return { kind: 'look', node };
  if (view.kind === 'refused') return refused(view.why);
  if (view.kind === 'found' && view.ready !== 'Unknown')
    return refused(`the node ${node} answers (its condition Ready is ${view.ready})`);
  // How long a node was silent that is gone is unknown.
  const silentMs = view.kind === 'gone' ? Date.parse(deletionTimestamp) : view.sinceMs;
  if (Number.isNaN(silentMs))
    return refused(`the node ${node} does not say since when it is silent`);
  const untilMs = silentMs + afterSeconds * 1000;
  if (nowMs < untilMs) return { kind: 'wait', untilMs, afterSeconds };
  const why = undeleted?.get(uid);
  if (why !== undefined) return refused(why);
  return { kind: 'delete', pod: { name, uid, resourceVersion, node } };
}

/** What a plan adds to the message that a node is unresponsive. */
export function replacementText(plan: LostPodPlan): string {
  switch (plan.kind) {
    case 'none':
    case 'look':
    case 'delete':
      return '';
    case 'wait':
      return `; the operator replaces the pod once the node has been silent for ${plan.afterSeconds} s (spec.syncer.replaceLostPodsAfterSeconds)`;
    case 'refuse':
      return `; the operator does not replace the pod (spec.syncer.replaceLostPodsAfterSeconds): ${plan.why}`;
  }
}

/** What a node says about itself, or the API server about a node that is silent. */
export function nodeView({ status }: Node): NodeView {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  const sinceMs = Date.parse(ready?.lastTransitionTime ?? '');
  return { kind: 'found', ready: ready?.status ?? 'not reported', sinceMs };
}

/** The note of the event for a pod that was deleted. */
export function replacedNote({ name, node }: LostPod): string {
  return `the pod ${name} was deleted so that Kubernetes starts another one: its node ${node} has not answered for too long. If the process still runs there, the destination accepts nothing more from it once the new one has taken its place`;
}

function imageOf({ spec }: Pod): string | undefined {
  return spec?.containers.find(({ name }) => name === 'syncer')?.image;
}

function refused(why: string): LostPodPlan {
  return { kind: 'refuse', why };
}
