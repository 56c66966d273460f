import assert from 'node:assert/strict';
import type { Node, Pod } from '../kube/builtin-resources.ts';
import { findCondition } from '../kube/conditions.ts';
import { nowMs } from '../operand/testing/running-pod.ts';
import { decide } from './decide.ts';
import { nodeView, planLostPod, type LostPodWorld, type NodeView } from './lost-pods.ts';
import { clusterSync, podName, runningPod, runningWorld, answers } from './testing/worlds.ts';

const ownImage = 'example.dev/clustersync:1';
const secondsAgo = (seconds: number): string => new Date(nowMs - seconds * 1000).toISOString();

/** A pod that was to end so long ago, on node-7. */
function endingPod(
  seconds: number | undefined,
  { image = ownImage, finalizers }: { image?: string; finalizers?: readonly string[] } = {},
): Pod {
  const { metadata, spec, ...pod } = runningPod();
  const deletionTimestamp = seconds === undefined ? undefined : secondsAgo(seconds);
  return {
    ...pod,
    metadata: {
      ...metadata,
      resourceVersion: '7',
      ...(deletionTimestamp !== undefined && { deletionTimestamp }),
      ...(finalizers && { finalizers }),
    },
    spec: {
      ...spec,
      nodeName: 'node-7',
      containers: (spec?.containers ?? []).map((container) => ({ ...container, image })),
    },
  };
}

function syncWith(afterSeconds: number | undefined, image?: string) {
  const { spec } = clusterSync();
  return clusterSync({
    syncer: {
      ...spec.syncer,
      ...(afterSeconds !== undefined && { replaceLostPodsAfterSeconds: afterSeconds }),
      ...(image !== undefined && { image }),
    },
  });
}

const silentFor = (seconds: number, ready = 'Unknown'): NodeView => ({
  ...{ kind: 'found', ready },
  sinceMs: nowMs - seconds * 1000,
});

function worldWith(node?: NodeView, undeleted: readonly [string, string][] = []): LostPodWorld {
  return {
    nowMs,
    settings: { image: ownImage },
    nodes: node && new Map([['node-7', node]]),
    undeleted: new Map(undeleted),
  };
}

describe('planLostPod', () => {
  const forever = silentFor(100_000);
  const cases: readonly (readonly [
    what: string,
    plan: string | RegExp,
    pod: Pod,
    world: LostPodWorld,
    sync?: ReturnType<typeof syncWith>,
  ])[] = [
    ['nobody asks for it', 'none', endingPod(9_000), worldWith(forever), syncWith(undefined)],
    ['it runs', 'none', endingPod(undefined), worldWith(forever)],
    ['it was to end less than a minute ago', 'none', endingPod(59), worldWith(forever)],
    [
      'it has ended, and a finalizer keeps it',
      'none',
      { ...endingPod(9_000), status: { phase: 'Failed' } },
      worldWith(forever),
    ],
    [
      'it was never on a node',
      'none',
      { ...endingPod(9_000), spec: { containers: [] } },
      worldWith(forever),
    ],
    ['its node was not read', 'look', endingPod(60), worldWith()],
    ['its node is silent for too short', 'wait', endingPod(9_000), worldWith(silentFor(599))],
    ['its node is silent for long', 'delete', endingPod(60), worldWith(silentFor(600))],
    ['its node is gone', 'delete', endingPod(600), worldWith({ kind: 'gone' })],
    ['its node is gone, too short', 'wait', endingPod(599), worldWith({ kind: 'gone' })],
    [
      'its node is ready again',
      /node-7 answers .*Ready is True/,
      endingPod(9_000),
      worldWith(silentFor(9_000, 'True')),
    ],
    [
      'its node says that it is not ready',
      /node-7 answers .*Ready is False/,
      endingPod(9_000),
      worldWith(silentFor(9_000, 'False')),
    ],
    [
      'its node cannot be read',
      /^may not/,
      endingPod(9_000),
      worldWith({ kind: 'refused', why: 'may not' }),
    ],
    [
      'it runs another image',
      /only its own image example.dev\/clustersync:1 is known to be safe, not example.dev\/clustersync:0/,
      endingPod(9_000, { image: 'example.dev/clustersync:0' }),
      worldWith(forever),
    ],
    [
      'its successor would run another image',
      /not example.dev\/tool:1/,
      endingPod(9_000),
      worldWith(forever),
      syncWith(600, 'example.dev/tool:1'),
    ],
    [
      'a finalizer would keep it',
      /finalizers: example.dev\/keep/,
      endingPod(9_000, { finalizers: ['example.dev/keep'] }),
      worldWith(forever),
    ],
    [
      'nobody knows since when its node is silent',
      /does not say since when/,
      endingPod(60),
      worldWith({ kind: 'found', ready: 'Unknown', sinceMs: NaN }),
    ],
    [
      'the API server has refused it',
      /^no right/,
      endingPod(9_000),
      worldWith(forever, [['pod-uid', 'no right']]),
    ],
    [
      'the API server has refused it for a former pod of its name',
      'delete',
      endingPod(9_000),
      worldWith(forever, [['former-uid', 'no right']]),
    ],
  ];
  for (const [what, expected, pod, world, sync = syncWith(600)] of cases)
    it(`${what}: ${String(expected)}`, () => {
      const plan = planLostPod(pod, sync, world);
      if (typeof expected === 'string') assert.equal(plan.kind, expected);
      else assert.match(plan.kind === 'refuse' ? plan.why : plan.kind, expected);
    });

  it('deletes the pod that was seen, and says when it will', () => {
    const pod = { name: podName, uid: 'pod-uid', resourceVersion: '7', node: 'node-7' };
    assert.deepEqual(planLostPod(endingPod(60), syncWith(600), worldWith(forever)), {
      kind: 'delete',
      pod,
    });
    assert.deepEqual(planLostPod(endingPod(60), syncWith(600), worldWith(silentFor(599))), {
      kind: 'wait',
      untilMs: nowMs + 1000,
      afterSeconds: 600,
    });
  });

  it('reads of a node whether it is ready, and since when', () => {
    const metadata = { name: 'node-7', creationTimestamp: secondsAgo(50) };
    const node = (conditions: readonly object[]): Node =>
      ({ apiVersion: 'v1', kind: 'Node', metadata, status: { conditions } }) as never;
    const ready = { type: 'Ready', status: 'Unknown', lastTransitionTime: secondsAgo(9) };
    const other = { type: 'DiskPressure', status: 'True', lastTransitionTime: secondsAgo(1) };
    assert.deepEqual(nodeView(node([other, ready])), silentFor(9));
    assert.deepEqual(nodeView(node([])), { kind: 'found', ready: 'not reported', sinceMs: NaN });
  });
});

describe('a ClusterSync whose pod is lost', () => {
  const lostWorld = (node?: NodeView, seconds = 9_000) =>
    runningWorld(answers.changes, {
      pods: new Map([[podName, endingPod(seconds)]]),
      ...(node && { nodes: new Map([['node-7', node]]) }),
    });
  const told = (decision: ReturnType<typeof decide>): string => {
    const ready = findCondition(decision.status.conditions, 'Ready');
    return `${ready?.reason ?? ''}: ${ready?.message ?? ''}`;
  };

  it('has its node read, then the pod deleted, or says why not', () => {
    const sync = syncWith(600);
    assert.deepEqual(decide(sync, lostWorld()).nodesToRead, ['node-7']);
    const due = decide(sync, lostWorld(silentFor(9_000)));
    assert.deepEqual(due.nodesToRead, []);
    assert.deepEqual(
      due.lostPods.map(({ name }) => name),
      [podName],
    );
    const early = decide(sync, lostWorld(silentFor(590)));
    assert.deepEqual(early.lostPods, []);
    assert.equal(early.requeueAfterMs, 10_000);
    assert.match(told(early), /^NodeUnresponsive: .*once the node has been silent for 600 s/);
    const ready = decide(sync, lostWorld(silentFor(9_000, 'True')));
    assert.deepEqual(ready.lostPods, []);
    assert.match(told(ready), /^NodeUnresponsive: .*does not replace the pod .*node-7 answers/);
  });

  const { metadata } = clusterSync();
  const deleted = { ...metadata, finalizers: ['foregroundDeletion'] };
  for (const [what, sync] of [
    ['is not asked to', clusterSync()],
    ['is suspended', { ...syncWith(600), spec: { ...syncWith(600).spec, suspend: true } }],
    [
      'is being deleted after its pods',
      { ...syncWith(600), metadata: { ...deleted, deletionTimestamp: secondsAgo(5) } },
    ],
  ] as const)
    it(`keeps the pod where it ${what}`, () => {
      for (const node of [undefined, silentFor(9_000)]) {
        const { nodesToRead, lostPods } = decide(sync, lostWorld(node));
        assert.deepEqual([nodesToRead, lostPods], [[], []]);
      }
    });
});
