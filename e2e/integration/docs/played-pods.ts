import { pods, statefulSets } from '../../../operator/kube/builtin-resources.ts';
import { sleep } from '../../../service/sleep.ts';
import type { OperatorGround } from '../operator/operator-ground.ts';
import { PodProcess } from '../operator/pod-process.ts';

const { signal } = new AbortController();
const pollMs = 100;

/**
 * Does what the controllers of Kubernetes and a kubelet would do with the StatefulSets of a namespace, each of one pod at most: runs
 * the program of the pod, and ends it when it is no longer asked for, or its StatefulSet is gone. It ends with this object.
 */
export function playPods(ground: OperatorGround, namespace: string): AsyncDisposable {
  const stop = new AbortController();
  const running = new Map<string, PodProcess>();
  const endPod = async (name: string, process: PodProcess): Promise<void> => {
    running.delete(name);
    await process.end();
    await process[Symbol.asyncDispose]();
    const options = { signal, gracePeriodSeconds: 0 };
    await ground.client.delete(pods, { namespace, name: `${name}-0` }, options);
  };
  const work = async (): Promise<void> => {
    const address = await ground.reserveAddress();
    while (!stop.signal.aborted) {
      const { items } = await ground.client.list(statefulSets, { namespace, signal });
      for (const set of items) {
        const { name } = set.metadata;
        const process = running.get(name);
        if (!process && set.spec?.replicas !== 0) {
          running.set(name, await PodProcess.start(ground.client, set, address));
          await ground.runPod(set, address);
        }
      }
      const wanted = items.filter(({ spec }) => spec?.replicas !== 0);
      const names = new Set(wanted.map(({ metadata }) => metadata.name));
      for (const [name, process] of running) if (!names.has(name)) await endPod(name, process);
      await sleep(pollMs, stop.signal).catch(() => undefined);
    }
  };
  const worked = work();
  // Looked at when this is disposed of.
  worked.catch(() => undefined);
  return {
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await worked.finally(async () => {
        for (const process of running.values()) await process[Symbol.asyncDispose]();
      });
    },
  };
}
