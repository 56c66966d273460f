import type { Pod } from '../../kube/builtin-resources.ts';
import type { OperandKind } from '../names.ts';
import { tokenArgument } from '../workload.ts';

/** The current time in these worlds. */
export const nowMs = Date.UTC(2026, 0, 1, 12);
/** The name of the pod's process. */
export const runningProcess = 'pod-uid/containerd://1';
/** What its container runs. */
export const runningImage = `example.dev/clustersync@sha256:${'5f'.repeat(32)}`;

/**
 * A pod of an operand in the namespace `shop`, running and ready, whose API has the token `token`.
 * @param args - of its container, before the hash of the token.
 */
export function runningOperandPod(kind: OperandKind, name: string, args: readonly string[]): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'shop', uid: 'pod-uid' },
    spec: { containers: [{ name: kind, args: [...args, tokenArgument('token')] }] },
    status: {
      podIP: '10.1.2.3',
      conditions: [{ type: 'Ready', status: 'True' }],
      containerStatuses: [
        {
          name: kind,
          image: '',
          imageID: runningImage,
          ready: true,
          restartCount: 0,
          containerID: 'containerd://1',
          state: { running: {} },
        },
      ],
    },
  };
}
