import { pods, statefulSets, type StatefulSet } from '../../../operator/kube/builtin-resources.ts';
import { until } from '../../ground/until.ts';
import type { OperatorGround } from './operator-ground.ts';
import { StandIn, topologyOf } from './stand-in.ts';

const signal = new AbortController().signal;
const port = 27182;

/** The ids of the instances. */
export const ids = ['shard-0', 'shard-1'] as const;

/** A sync whose two pods run, each with a tool behind it. */
export interface TwoInstances extends AsyncDisposable {
  readonly namespace: string;
  readonly set: StatefulSet;
  readonly first: StandIn;
  readonly second: StandIn;
}

/**
 * Runs the first pod until it has told that the source is sharded, and then what Kubernetes does: that pod was made for a
 * source of one shard, and is replaced. @returns the StatefulSet for all of them.
 */
export async function untilToldBy(
  ground: OperatorGround,
  namespace: string,
  address: string,
): Promise<StatefulSet> {
  const first = await ground.untilMade(namespace, 'orders-syncer');
  await ground.runPod(first, address);
  await until('there are to be two', async () => {
    const set = await ground.get(statefulSets, namespace, 'orders-syncer');
    return set?.spec?.replicas === 2;
  });
  const ref = { namespace, name: 'orders-syncer-0' };
  await ground.client.delete(pods, ref, { signal });
  await until('the pod is gone', async () => {
    return (await ground.get(pods, namespace, ref.name)) === undefined;
  });
  return await ground.untilMade(namespace, 'orders-syncer');
}

/** Starts a sync whose two pods run, with these bodies of their answers to progress calls. */
export async function startTwoInstances(
  ground: OperatorGround,
  spec: object,
  ...progresses: readonly [object, object]
): Promise<TwoInstances> {
  const { namespace, address } = await ground.newPlace();
  const other = await ground.reserveAddress();
  await ground.createSync(namespace, spec);
  const stack = new AsyncDisposableStack();
  const [first, second] = [
    stack.use(await StandIn.start(address, port, progresses[0])),
    stack.use(await StandIn.start(other, port, progresses[1])),
  ];
  for (const syncer of [first, second]) syncer.answers.set('topology', topologyOf(...ids));
  const set = await untilToldBy(ground, namespace, address);
  await ground.runPod(set, address);
  await ground.runPod(set, other, { index: 1 });
  const stop = async (): Promise<void> => {
    await stack.disposeAsync();
  };
  return { namespace, set, first, second, [Symbol.asyncDispose]: stop };
}
