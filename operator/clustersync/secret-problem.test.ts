import assert from 'node:assert/strict';
import { findCondition } from '../kube/conditions.ts';
import { secretsHashAnnotation } from '../operand/operand-secrets.ts';
import { nowMs } from '../operand/testing/running-pod.ts';
import { decide, type Decision, type World } from './decide.ts';
import {
  answers,
  clusterSync,
  emptyWorld,
  phaseAndReadiness,
  runningWorld,
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
