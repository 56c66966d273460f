import assert from 'node:assert/strict';
import { findCondition } from '../kube/conditions.ts';
import { secretsHashAnnotation } from '../operand/operand-secrets.ts';
import { runningOperandPod } from '../operand/testing/running-pod.ts';
import { decide, type World } from './decide.ts';
import {
  checking,
  phaseAndConditions,
  running,
  statefulSet,
  verification,
  world,
} from './testing/worlds.ts';

describe('a SyncVerification whose Secrets have become unusable', () => {
  it('continues while its Secrets are unusable, and says so', () => {
    const invalid = { kind: 'invalid', description: 'ca.crt is not a PEM certificate' } as const;
    const decision = decide(verification(), running(checking, { credentials: [invalid] }));
    const { status, events } = decision;
    assert.equal(
      phaseAndConditions(decision),
      phaseAndConditions(decide(verification(), running(checking))),
    );
    const problem = findCondition(status?.conditions, 'SecretProblem');
    assert.deepEqual(
      [problem?.status, problem?.reason, problem?.message],
      [
        'True',
        'InvalidCertificate',
        `${invalid.description}: running pods continue, and are not changed until this is corrected`,
      ],
    );
    assert.ok(events.some(({ type, reason }) => type === 'Warning' && reason === problem?.reason));
    const before = decide(verification(), world({ credentials: [invalid] }));
    assert.equal(findCondition(before.status?.conditions, 'SecretProblem'), undefined);
    assert.equal(findCondition(before.status?.conditions, 'Ready')?.reason, 'InvalidCertificate');
  });

  it('names the Secret that its pod waits for, and does not say that it runs', () => {
    const missing = { kind: 'missing', description: 'there is no Secret authority' } as const;
    const pod = runningOperandPod('verifier', 'check-verifier-0', ['--attempt=1']);
    const [container] = pod.status?.containerStatuses ?? [];
    assert.ok(container);
    const waiting = { ...container, state: { waiting: {} } };
    for (const gone of [undefined, { ...pod, status: { containerStatuses: [waiting] } }]) {
      const decision = decide(
        verification(),
        running(checking, { credentials: [missing], pod: gone, observation: undefined }),
      );
      const { conditions } = decision.status ?? {};
      const message = (type: string) => findCondition(conditions, type)?.message;
      assert.match(phaseAndConditions(decision), / False SecretNotFound Reconciling /);
      const cannotStart = 'cannot start until this is corrected';
      assert.equal(
        message('Ready'),
        `there is no Secret authority: the pod check-verifier-0 ${cannotStart}`,
      );
      assert.ok(!gone || decision.status?.verifier?.error === message('Ready'));
      assert.equal(message('SecretProblem'), `there is no Secret authority: pods ${cannotStart}`);
    }
  });

  it('keeps its pods as they are while a Secret is missing', () => {
    const missing = { kind: 'missing', description: 'there is no Secret authority' } as const;
    const annotations = { [secretsHashAnnotation]: 'former' };
    const set = {
      ...statefulSet,
      spec: { selector: {}, serviceName: '', template: { metadata: { annotations } } },
    };
    const of = (credentials: World['credentials']) =>
      decide(verification(), running(checking, { credentials, statefulSet: set }));
    assert.equal(of([missing]).objects?.arePodsKept, true);
    assert.ok(of([]).objects);
    assert.equal(of([]).objects?.arePodsKept, undefined);
  });
});
