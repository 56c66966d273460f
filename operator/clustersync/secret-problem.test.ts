import assert from 'node:assert/strict';
import type { Pod } from '../kube/builtin-resources.ts';
import { findCondition } from '../kube/conditions.ts';
import { secretsHashAnnotation } from '../operand/operand-secrets.ts';
import { nowMs } from '../operand/testing/running-pod.ts';
import { decide } from './decide.ts';
import type { Decision, World } from './decision.ts';
import {
  answers,
  clusterSync,
  decideOn,
  emptyWorld,
  phaseAndReadiness,
  podName,
  readyMessage,
  runningPod,
  runningWorld,
  shardedWorld,
} from './testing/worlds.ts';

describe('a ClusterSync whose Secrets have become unusable', () => {
  const missing = { kind: 'missing', description: 'there is no Secret authority' } as const;
  const invalid = { kind: 'invalid', description: 'ca.crt is not a PEM certificate' } as const;
  const expiry = { what: 'ca.crt in the Secret authority', atMs: nowMs, noticeMs: 0 };
  const expired = { kind: 'found', value: 'YQ==', expiry } as const;
  const problemOf = ({ conditions }: Decision['status']) =>
    findCondition(conditions, 'SecretProblem');
  const withoutProblem = () => decide(clusterSync(), runningWorld(answers.changes));

  for (const [secret, reason] of [
    [missing, 'SecretNotFound'],
    [invalid, 'InvalidCertificate'],
    [expired, 'CertificateExpired'],
  ] as const) {
    it(`says ${reason} once, and continues`, () => {
      const world = { ...runningWorld(answers.changes), credentials: [secret] };
      const { status, events, targets } = decide(clusterSync(), world);
      assert.equal(problemOf(status)?.reason, reason);
      assert.equal(phaseAndReadiness(status), phaseAndReadiness(withoutProblem().status));
      assert.equal(targets.size, 1);
      const told = events.filter((event) => event.reason === reason);
      assert.deepEqual(
        told.map(({ type, note }) => [type, note]),
        [['Warning', problemOf(status)?.message]],
      );
      const again = decide(clusterSync({}, status), world);
      assert.deepEqual(problemOf(again.status), problemOf(status));
      assert.deepEqual(
        again.events.filter((event) => event.reason === reason),
        [],
      );
    });
  }

  const inState = (state: object): Pod => {
    const { status, ...pod } = runningPod();
    const [container] = status?.containerStatuses ?? [];
    assert.ok(container);
    return { ...pod, status: { ...status, containerStatuses: [{ ...container, state }] } };
  };
  const unscheduled: Pod = {
    ...runningPod(),
    status: { conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }] },
  };
  const terminating = (pod: Pod, deletedMs: number): Pod => {
    const deletionTimestamp = new Date(deletedMs).toISOString();
    const spec = { containers: [], ...pod.spec, nodeName: 'node-7' };
    return { ...pod, spec, metadata: { ...pod.metadata, deletionTimestamp } };
  };
  const cannotStart = `the pod ${podName} cannot start until this is corrected`;
  for (const [what, pod, secret, readiness, message] of [
    ['the pod was evicted', undefined, missing, 'SecretNotFound', cannotStart],
    [
      ...(['the container waits for the Secret', inState({ waiting: {} }), missing] as const),
      ...(['SecretNotFound', cannotStart] as const),
    ],
    [
      ...(['the pod is being replaced', terminating(runningPod(), nowMs), missing] as const),
      ...(['SecretNotFound', cannotStart] as const),
    ],
    [
      'the pod waits, and would crash',
      inState({ waiting: {} }),
      invalid,
      'InvalidCertificate',
      cannotStart,
    ],
    [
      ...(['it crashes', inState({ waiting: { reason: 'CrashLoopBackOff' } }), invalid] as const),
      ...(['InvalidCertificate', cannotStart] as const),
    ],
    [
      ...([
        'the pod crashes for another reason',
        inState({ waiting: { reason: 'CrashLoopBackOff' } }),
      ] as const),
      ...([missing, 'PodCrashLooping', 'keeps crashing'] as const),
    ],
    ['the pod has no node', unscheduled, missing, 'PodUnschedulable', 'cannot be scheduled'],
    [
      ...(['its node is lost', terminating(runningPod(), nowMs - 60_000), missing] as const),
      ...(['NodeUnresponsive', 'does not confirm'] as const),
    ],
    [
      'the pod waits for something else',
      inState({ waiting: {} }),
      expired,
      'PodPending',
      'not running yet',
    ],
  ] as const) {
    it(`names what the pod waits for, and does not say that it runs, when ${what}`, () => {
      const pods = new Map(pod ? [[podName, pod]] : []);
      const world = { ...runningWorld(undefined, { pods }), credentials: [secret] };
      const { status } = decide(clusterSync(), world);
      assert.match(phaseAndReadiness(status), new RegExp(` False ${readiness}$`));
      assert.ok(readyMessage(status).includes(message), readyMessage(status));
      if (message === cannotStart)
        assert.equal(readyMessage(status), `${secret.description}: ${message}`);
      assert.doesNotMatch(problemOf(status)?.message ?? '', /continue/);
      assert.ok(problemOf(status));
    });
  }

  it('says of several instances which one cannot start', () => {
    const world = shardedWorld([answers.changes, 'no pod', answers.changes], {
      credentials: [missing],
    });
    const { status } = decideOn(world);
    assert.equal(
      readyMessage(status),
      'there is no Secret authority: the pod orders-syncer-1 cannot start until this is corrected',
    );
    assert.match(problemOf(status)?.message ?? '', /running pods continue, others cannot start/);
  });

  it('says why a pod cannot be created, if that is not the Secret', () => {
    const podRefusals = new Map([[podName, { message: 'exceeded quota', isLasting: true }]]);
    const world = runningWorld(undefined, { pods: new Map(), podRefusals });
    const { status } = decide(clusterSync(), { ...world, credentials: [missing] });
    assert.match(phaseAndReadiness(status), / False PodCreationFailed$/);
  });

  it('keeps its pods as they are, whatever else changes', () => {
    const annotations = { [secretsHashAnnotation]: 'former' };
    const statefulSet = {
      ...{ apiVersion: 'apps/v1', kind: 'StatefulSet', metadata: { name: 'orders-syncer' } },
      spec: { selector: {}, serviceName: '', template: { metadata: { annotations } } },
    };
    const of = (credentials: World['credentials']) => {
      return decide(clusterSync(), { ...runningWorld(answers.changes), statefulSet, credentials });
    };
    assert.equal(of([missing]).objects?.arePodsKept, true);
    assert.equal(of([invalid]).objects?.arePodsKept, true);
    assert.ok(of([expired]).objects);
    assert.equal(of([expired]).objects?.arePodsKept, undefined);
  });

  it('tells the next problem, too', () => {
    const { status } = decide(clusterSync(), {
      ...runningWorld(answers.changes),
      credentials: [missing],
    });
    const other = { ...missing, description: 'there is no Secret other' };
    const { events } = decide(clusterSync({}, status), {
      ...runningWorld(answers.changes),
      credentials: [other],
    });
    assert.ok(events.some(({ note }) => note.startsWith(other.description)));
  });

  it('says nothing of them once it is at rest', () => {
    const done = { state: 'Committed' } as const;
    const { status } = decide(clusterSync(done), runningWorld(answers.committed));
    const world = { ...runningWorld(answers.committed), credentials: [missing] };
    assert.equal(problemOf(decide(clusterSync(done, status), world).status), undefined);
  });

  it('has no such condition otherwise, nor before there are pods', () => {
    assert.equal(problemOf(withoutProblem().status), undefined);
    const { status } = decide(clusterSync(), emptyWorld({ credentials: [missing] }));
    assert.equal(problemOf(status), undefined);
    assert.equal(phaseAndReadiness(status), 'Pending: False SecretNotFound');
  });
});
