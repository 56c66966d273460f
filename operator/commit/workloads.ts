import { pods } from '../kube/builtin-resources.ts';
import type { KubeClient } from '../kube/client.ts';
import { isConflict, isNotFound, KubeError } from '../kube/kube-error.ts';
import { isPossibleName } from '../kube/resource.ts';
import { hasEnded } from '../operand/pod-state.ts';
import type { WorkloadRef } from './hold.ts';
import type { CommitStep, Scaling, SeenWorkload, WorkloadState, WorkloadView } from './plan.ts';

/** The subresource `scale` of a workload, as far as it is read. */
interface Scale {
  readonly seen: SeenWorkload;
  readonly replicas: number;
  /** Its pods, except those that are terminating. */
  readonly actualReplicas: number;
  /** Of its pods. */
  readonly selector: string;
}

const plurals = { Deployment: 'deployments', StatefulSet: 'statefulsets' } as const;

/** How many refusals to keep: those of workloads that are gone would stay. */
const maxRefusals = 1_000;

type ScaleStep = Extract<CommitStep, { readonly kind: 'scale' }>;

/** Deployments and StatefulSets of a namespace, of which the operator may change only the number of pods. */
export class Workloads {
  readonly #client: KubeClient;
  /** Why the API server refused to scale a workload the last time, by its path and uid. */
  readonly #refusals = new Map<string, string>();

  constructor(client: KubeClient) {
    this.#client = client;
  }

  /** Reads workloads, each once. */
  async look(
    namespace: string,
    refs: readonly WorkloadRef[],
    signal: AbortSignal,
  ): Promise<WorkloadView[]> {
    const byKey = new Map(refs.map(({ kind, name }) => [`${kind}/${name}`, { kind, name }]));
    const views: WorkloadView[] = [];
    for (const ref of byKey.values()) {
      views.push({ ...ref, state: await this.#stateOf(namespace, ref, signal) });
    }
    return views;
  }

  /**
   * Scales workloads, except those that have changed since they were read: they must be read again. One that cannot be scaled
   * keeps no other from it, unless all are tried first: then none is scaled after a refusal, or a change.
   */
  async scale(
    namespace: string,
    { scalings, isTriedFirst }: Pick<ScaleStep, 'scalings' | 'isTriedFirst'>,
    signal: AbortSignal,
  ): Promise<void> {
    if (isTriedFirst)
      for (const scaling of scalings)
        if ((await this.#try(namespace, scaling, signal)) === 'changed') return;
    let failure: { readonly error: unknown } | undefined;
    for (const scaling of scalings) {
      try {
        await this.#put(namespace, scaling, { signal });
      } catch (error) {
        signal.throwIfAborted();
        if (hasChanged(error)) continue;
        if (isTriedFirst) throw error;
        failure ??= { error };
      }
    }
    if (failure) throw failure.error;
  }

  async #try(
    namespace: string,
    scaling: Scaling,
    signal: AbortSignal,
  ): Promise<'possible' | 'changed'> {
    try {
      await this.#put(namespace, scaling, { query: { dryRun: 'All' }, signal });
    } catch (error) {
      if (hasChanged(error)) return 'changed';
      // A webhook with side effects is not called to try.
      if (!(error instanceof KubeError && error.message.includes('not support dry run')))
        throw error;
    }
    return 'possible';
  }

  async #put(
    namespace: string,
    { kind, name, seen, replicas }: Scaling,
    options: { readonly query?: { readonly dryRun: 'All' }; readonly signal: AbortSignal },
  ): Promise<void> {
    const path = pathOf(namespace, { kind, name });
    const body = {
      apiVersion: 'autoscaling/v1',
      kind: 'Scale',
      // With the version that was read: another size set since then is not recorded.
      metadata: { name, namespace, ...seen },
      spec: { replicas },
    };
    const key = `${path} ${seen.uid}`;
    try {
      await this.#client.raw({ method: 'PUT', path, body, ...options });
    } catch (error) {
      if (error instanceof KubeError && !hasChanged(error)) {
        if (this.#refusals.size >= maxRefusals) this.#refusals.clear();
        this.#refusals.set(key, error.message);
      }
      throw error;
    }
    this.#refusals.delete(key);
  }

  async #stateOf(namespace: string, ref: WorkloadRef, signal: AbortSignal): Promise<WorkloadState> {
    if (!isPossibleName(ref.name)) return { kind: 'missing' };
    const path = pathOf(namespace, ref);
    try {
      const scale = await this.#read(path, signal);
      const { seen, replicas } = scale;
      const left = replicas > 0 ? scale.actualReplicas : await this.#pods(namespace, scale, signal);
      const refusal = this.#refusals.get(`${path} ${seen.uid}`);
      const found = { kind: 'found', seen, replicas, pods: left } as const;
      return refusal === undefined ? found : { ...found, refusal };
    } catch (error) {
      if (isNotFound(error)) return { kind: 'missing' };
      if (error instanceof KubeError && error.statusCode === 403) {
        return { kind: 'refused', description: error.message };
      }
      throw error;
    }
  }

  /** The workload does not count terminating pods, but they write until they have ended. */
  async #pods(namespace: string, { selector }: Scale, signal: AbortSignal): Promise<number> {
    const { items } = await this.#client.list(pods, { namespace, labelSelector: selector, signal });
    return items.filter((pod) => !hasEnded(pod)).length;
  }

  async #read(path: string, signal: AbortSignal): Promise<Scale> {
    const answer = (await this.#client.raw({ method: 'GET', path, signal })) as {
      readonly metadata?: { readonly uid?: string; readonly resourceVersion?: string };
      readonly spec?: { readonly replicas?: number };
      readonly status?: { readonly replicas?: number; readonly selector?: string };
    };
    const { metadata, spec, status } = answer;
    const { selector = '' } = status ?? {};
    if (metadata?.uid === undefined || metadata.resourceVersion === undefined || selector === '') {
      throw new Error(`${path}: no Scale in the answer`);
    }
    return {
      seen: { uid: metadata.uid, resourceVersion: metadata.resourceVersion },
      replicas: spec?.replicas ?? 0,
      actualReplicas: status?.replicas ?? 0,
      selector,
    };
  }
}

/** Whether a workload is gone, or has changed since it was read. */
function hasChanged(error: unknown): boolean {
  return isNotFound(error) || isConflict(error);
}

function pathOf(namespace: string, { kind, name }: WorkloadRef): string {
  const parts = [namespace, plurals[kind], name].map(encodeURIComponent);
  const [inNamespace = '', plural = '', workload = ''] = parts;
  return `/apis/apps/v1/namespaces/${inNamespace}/${plural}/${workload}/scale`;
}
