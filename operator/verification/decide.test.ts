import assert from 'node:assert/strict';
import type { ClusterSync } from '../api/clustersync.ts';
import type { SyncVerification, SyncVerificationStatus } from '../api/sync-verification.ts';
import { decide as decideSync } from '../clustersync/decide.ts';
import {
  answers,
  clusterSync,
  nowMs,
  runningPod,
  runningWorld,
} from '../clustersync/testing/worlds.ts';
import type { StatefulSet } from '../kube/builtin-resources.ts';
import { findCondition } from '../kube/conditions.ts';
import type { Observation } from '../operand/observation.ts';
import { progressAnswer } from '../operand/operand-api.ts';
import { decide, type Decision, type World } from './decide.ts';
import { readProgress, type VerifierCommand, type VerifierProgress } from './verifier-client.ts';

const statefulSet: StatefulSet = {
  apiVersion: 'apps/v1',
  kind: 'StatefulSet',
  metadata: { name: 'check-verifier', namespace: 'shop', uid: 'set-uid' },
};

function verification(status?: SyncVerificationStatus): SyncVerification {
  return {
    apiVersion: 'clustersync.dev/v1alpha1',
    kind: 'SyncVerification',
    metadata: { name: 'check', namespace: 'shop', uid: 'check-uid', generation: 1 },
    spec: {
      clusterSyncRef: { name: 'orders' },
      parallelism: 3,
      verifier: { resources: {}, logLevel: 'info' },
    },
    ...(status && { status }),
  };
}

function syncIn(answer: (typeof answers)[keyof typeof answers], spec = {}): ClusterSync {
  const { status } = decideSync(clusterSync(spec), runningWorld(answer));
  return clusterSync(spec, status);
}

const changing = syncIn(answers.changes);
const committed = syncIn(answers.committed);

function world(parts: Partial<World> = {}): World {
  return {
    nowMs,
    settings: { image: 'example.dev/clustersync:1', imagePullPolicy: 'IfNotPresent' },
    clusterSync: changing,
    source: { kind: 'found', value: 'a' },
    destination: { kind: 'found', value: 'b' },
    token: 'token',
    newToken: 'fresh-token',
    statefulSet: undefined,
    pod: undefined,
    observation: undefined,
    ...parts,
  };
}

function running(
  progress: object | undefined,
  parts: Partial<World> = {},
  observation: Partial<Observation<VerifierProgress, VerifierCommand>> = {},
): World {
  const pod = runningPod();
  const [container] = pod.status?.containerStatuses ?? [];
  assert.ok(container);
  const answer = progress && progressAnswer({ progress }, readProgress);
  assert.notEqual(answer?.kind, 'unreachable');
  return world({
    statefulSet,
    pod: {
      ...pod,
      metadata: { ...pod.metadata, name: 'check-verifier-0' },
      status: { ...pod.status, containerStatuses: [{ ...container, name: 'verifier' }] },
    },
    observation: {
      process: 'pod-uid/containerd://1',
      answer: answer?.kind === 'unreachable' ? undefined : answer,
      askedMs: nowMs - 100,
      unreachable: undefined,
      command: undefined,
      ...observation,
    },
    ...parts,
  });
}

function outlook({ status }: Decision): string {
  const ready = findCondition(status?.conditions, 'Ready');
  const others = ['Reconciling', 'Stalled'].filter((type) =>
    findCondition(status?.conditions, type),
  );
  const consistent = findCondition(status?.conditions, 'Consistent')?.status;
  return [status?.phase, ready?.status, ready?.reason, ...others, consistent].join(' ');
}

const idle = { phase: 'idle', error: null, verdict: null, verificationStatus: { totalTasks: 0 } };
const checking = { ...idle, phase: 'check', verificationStatus: { totalTasks: 5 } };
const counts = { totalTasks: 5, completedTasks: 5, failedTasks: 0, metadataMismatchTasks: 0 };
const equal = { ...idle, verdict: 'equal', verificationStatus: counts };
const different = {
  ...equal,
  verdict: 'different',
  verificationStatus: { ...counts, failedTasks: 2 },
};

/** The decisions about one verification, one world after the other. */
function follow(worlds: readonly World[]): Decision[] {
  let status: SyncVerificationStatus | undefined;
  return worlds.map((each) => {
    const decision = decide(verification(status), each);
    status = decision.status ?? status;
    return decision;
  });
}

describe('a SyncVerification', () => {
  it('waits for its ClusterSync', () => {
    const decision = decide(verification(), world({ clusterSync: undefined }));
    assert.equal(outlook(decision), 'Pending False ClusterSyncNotFound Reconciling Unknown');
    assert.equal(decision.objects, undefined);
    assert.equal(decision.token, undefined);
  });

  it('waits for the end of the initial copy', () => {
    const decision = decide(
      verification(),
      world({ clusterSync: syncIn(answers.copy), token: undefined }),
    );
    assert.equal(outlook(decision), 'Pending False WaitingForInitialCopy Reconciling Unknown');
    assert.equal(decision.objects, undefined);
    assert.equal(decision.token, undefined);
  });

  it('starts the verifier with the connection strings of the sync', () => {
    const { objects, token } = decide(verification(), world({ token: undefined }));
    const [container] = objects?.statefulSet.spec?.template?.spec?.containers ?? [];
    assert.equal(objects?.statefulSet.spec?.replicas, 3);
    assert.deepEqual(container?.args?.slice(0, 6), [
      'verifier',
      '--verifyAll',
      '--srcURIFile=/etc/clustersync/source/uri',
      '--destURIFile=/etc/clustersync/destination/uri',
      '--metaURIFile=/etc/clustersync/destination/uri',
      '--verification=check-uid',
    ]);
    assert.ok(token);
  });

  it('compares what the sync selects', () => {
    const filtered = syncIn(answers.changes, { includeNamespaces: [{ database: 'a' }] });
    const { objects } = decide(verification(), world({ clusterSync: filtered }));
    const [container] = objects?.statefulSet.spec?.template?.spec?.containers ?? [];
    assert.ok(!container?.args?.includes('--verifyAll'));
  });

  it('tells it to check, once', () => {
    const taken = { name: 'check', kind: 'taken', endedMs: nowMs - 50 } as const;
    const [first, second, third] = follow([
      running(idle),
      running(idle, {}, { command: taken }),
      running(checking),
    ]);
    assert.equal(first?.command?.name, 'check');
    assert.ok(second && third);
    assert.equal(second.command, undefined);
    assert.equal(second.status?.verifier?.checkSentAt, '2026-01-01T11:59:59Z');
    assert.equal(third.command, undefined);
    assert.equal(outlook(third), 'Checking False Checking Reconciling Unknown');
    assert.deepEqual(third.status?.verificationStatus, { totalTasks: 5 });
  });

  it('does not take idle for a verdict', () => {
    const taken = { name: 'check', kind: 'taken', endedMs: nowMs - 50 } as const;
    const [, decision] = follow([running(idle), running(idle, {}, { command: taken })]);
    assert.equal(decision?.status?.completedAt, undefined);
  });

  it('tells a restarted verifier to check again', () => {
    const [, decision] = follow([running(checking), running(idle, {}, { process: 'another' })]);
    assert.equal(decision?.command, undefined, 'the pod has not been seen with the new process');
    const world = running(idle);
    assert.ok(world.pod);
    const restarted = {
      ...world,
      pod: { ...world.pod, metadata: { ...world.pod.metadata, uid: 'new' } },
      observation: world.observation && { ...world.observation, process: 'new/containerd://1' },
    };
    const [, again] = follow([running(checking), restarted]);
    assert.equal(again?.command?.name, 'check');
    assert.equal(again.status?.startedAt, '2026-01-01T12:00:00Z');
  });

  it('says that writes are off when the sync is committed, once', () => {
    const taken = { name: 'writesOff', kind: 'taken', endedMs: nowMs } as const;
    const [, second, third] = follow([
      running(checking),
      running(checking, { clusterSync: committed }),
      running(checking, { clusterSync: committed }, { command: taken }),
    ]);
    assert.equal(second?.command?.name, 'writesOff');
    assert.ok(third);
    assert.equal(third.command, undefined);
    assert.equal(outlook(third), 'Finishing False Finishing Reconciling Unknown');
  });

  it('does not say so before it was told to check', () => {
    const decision = decide(verification(), running(idle, { clusterSync: committed }));
    assert.equal(decision.command?.name, 'check');
  });

  it('ends Succeeded when the data is equal', () => {
    const [, decision] = follow([running(checking), running(equal, { clusterSync: committed })]);
    assert.ok(decision);
    assert.equal(outlook(decision), 'Succeeded True Completed True');
    assert.equal(decision.status?.verdict, 'Equal');
    assert.equal(decision.status.completedAt, '2026-01-01T12:00:00Z');
    assert.deepEqual(decision.status.verificationStatus, counts);
    assert.deepEqual(
      decision.events.map(({ type, reason }) => `${type} ${reason}`),
      ['Normal Succeeded'],
    );
  });

  it('ends Failed when the data is different, which is no failure of the check', () => {
    const [, decision] = follow([
      running(checking),
      running(different, { clusterSync: committed }),
    ]);
    assert.ok(decision);
    assert.equal(outlook(decision), 'Failed True Completed False');
    assert.equal(decision.status?.verdict, 'Different');
    assert.match(findCondition(decision.status.conditions, 'Consistent')?.message ?? '', /2 of 5/);
    assert.deepEqual(
      decision.events.map(({ type, reason }) => `${type} ${reason}`),
      ['Warning Different'],
    );
  });

  it('ends Failed and Stalled when the check cannot go on', () => {
    const broken = { ...checking, error: 'OplogRolledOver: too late' };
    const [, decision] = follow([running(checking), running(broken)]);
    assert.ok(decision);
    assert.equal(outlook(decision), 'Failed False OplogRolledOver Stalled Unknown');
    assert.equal(decision.status?.verdict, undefined);
  });

  it('takes the counts of a tool that has no verdict, once it knows that writes are off', () => {
    const { verdict: _, ...plain } = equal;
    const taken = { name: 'writesOff', kind: 'taken', endedMs: nowMs - 10_000 } as const;
    const later = { command: taken, askedMs: nowMs } as const;
    const [, before, after] = follow([
      running(checking),
      running(plain, { clusterSync: committed }),
      running(plain, { clusterSync: committed }, later),
    ]);
    assert.equal(before?.status?.completedAt, undefined);
    assert.equal(after?.status?.verdict, 'Equal');
    const wrong = { ...plain, verificationStatus: { ...counts, metadataMismatchTasks: 1 } };
    const [, , other] = follow([
      running(checking),
      running(plain, { clusterSync: committed }),
      running(wrong, { clusterSync: committed }, later),
    ]);
    assert.equal(other?.status?.verdict, 'Different');
  });

  it('removes the pod when the result is on record, and then changes nothing any more', () => {
    const [, end] = follow([running(checking), running(equal, { clusterSync: committed })]);
    assert.ok(end?.status);
    assert.equal(end.remove, undefined);
    const after = decide(verification(end.status), running(checking, { clusterSync: undefined }));
    assert.equal(after.remove, statefulSet);
    assert.equal(after.status, undefined);
    assert.equal(after.objects, undefined);
    assert.equal(after.target, undefined);
    assert.equal(decide(verification(end.status), world()).remove, undefined);
  });

  it('is stalled by a wrong password', () => {
    const decision = decide(
      verification(),
      running(
        undefined,
        {},
        {
          answer: {
            kind: 'error',
            error: { name: 'AuthenticationFailed', description: 'no', isLasting: true },
          },
        },
      ),
    );
    assert.equal(outlook(decision), 'Starting False AuthenticationFailed Stalled Unknown');
    assert.equal(decision.status?.verifier?.error, 'AuthenticationFailed: no');
    assert.equal(decision.command, undefined);
  });
});
