import { messageOf, shortened } from '../../service/errors.ts';
import type { ClusterSync } from '../api/clustersync.ts';
import type { EventRecorder } from '../kube/event-recorder.ts';
import { isForbidden, KubeError } from '../kube/kube-error.ts';
import type { OperandStore } from '../operand/operand-store.ts';
import { lacksRight, nodeView, replacedNote, type LostPod, type NodeView } from './lost-pods.ts';

/** Admission policies may have long messages. */
const maxWhyLength = 300;

/** Reads the nodes of pods that may be lost, and deletes those that are. */
export class LostPodKeeper {
  readonly #store: OperandStore;
  readonly #recorder: EventRecorder;

  constructor(store: OperandStore, recorder: EventRecorder) {
    this.#store = store;
    this.#recorder = recorder;
  }

  /** The nodes, by name. What the API server refuses must not stop the pass: it would keep commands from the other instances. */
  async read(
    names: readonly string[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, NodeView>> {
    const views = new Map<string, NodeView>();
    for (const name of names) views.set(name, await this.#view(name, signal));
    return views;
  }

  /**
   * Deletes pods, unless they have changed, and tells of those that are deleted.
   * @returns why the API server has refused to delete some, by their UIDs.
   */
  async remove(
    clusterSync: ClusterSync,
    pods: readonly LostPod[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, string>> {
    const { namespace = '' } = clusterSync.metadata;
    const undeleted = new Map<string, string>();
    for (const pod of pods) {
      try {
        if ((await this.#store.removePod({ ...pod, namespace }, signal)) === 'changed') continue;
        const event = { type: 'Warning', reason: 'PodReplaced', action: 'Replace' } as const;
        this.#recorder.record({ ...event, note: replacedNote(pod), regarding: clusterSync });
      } catch (error) {
        if (!(error instanceof KubeError)) throw error;
        undeleted.set(pod.uid, whyOf(error, 'delete pods'));
      }
    }
    return undeleted;
  }

  async #view(name: string, signal: AbortSignal): Promise<NodeView> {
    try {
      const node = await this.#store.node(name, signal);
      return node ? nodeView(node) : { kind: 'gone' };
    } catch (error) {
      if (!(error instanceof KubeError)) throw error;
      return { kind: 'refused', why: whyOf(error, 'read nodes') };
    }
  }
}

/** Admission webhooks refuse by the same code, but not in these words of RBAC. */
function whyOf(error: KubeError, what: string): string {
  const isRight = isForbidden(error) && /cannot (?:get|delete) resource/.test(error.message);
  return isRight ? lacksRight(what) : shortened(messageOf(error), maxWhyLength);
}
