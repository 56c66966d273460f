import assert from 'node:assert/strict';
import { clusterSyncs } from '../../../operator/api/clustersync.ts';
import { events, secrets, statefulSets } from '../../../operator/kube/builtin-resources.ts';
import { findCondition } from '../../../operator/kube/conditions.ts';
import { issueCertificate } from '../../ground/certificates.ts';
import { startReplicaSet, type ReplicaSet } from '../../ground/mongod/replica-set.ts';
import { secretData } from './custom-resources.ts';
import { OperatorGround, readiness, RunningOperator } from './operator-ground.ts';
import { PodProcess } from './pod-process.ts';

const signal = new AbortController().signal;

describe('the operator with a syncer that serves HTTPS', () => {
  let ground: OperatorGround;
  let operator: RunningOperator;
  let destination: ReplicaSet;

  before(async () => {
    [ground, destination] = await Promise.all([
      OperatorGround.start(),
      startReplicaSet({ members: 1, syncerRoles: 'destination' }),
    ]);
    operator = await RunningOperator.start(ground.kubeconfig);
  });

  after(async () => {
    await operator[Symbol.asyncDispose]();
    await destination.stop();
    await ground[Symbol.asyncDispose]();
  });

  it('waits for the Secret, refuses another authority in one condition, and continues with the right one', async () => {
    const { namespace, address } = await ground.newPlace(undefined, destination.uri('syncer'));
    const { client } = ground;
    await ground.createSync(namespace, { syncer: { tls: { secretName: 'orders-tls' } } });
    const waiting = await ground.untilSync(
      namespace,
      'the Secret is missed',
      (status) => readiness(status) === 'False SecretNotFound',
    );
    assert.match(
      findCondition(waiting.conditions, 'Ready')?.message ?? '',
      /^there is no Secret orders-tls: HTTPS requires tls\.crt, tls\.key and ca\.crt in it$/,
    );
    assert.equal(await ground.get(statefulSets, namespace, 'orders-syncer'), undefined);

    // The authority of somebody else.
    const [right, wrong] = await Promise.all([
      issueCertificate(`orders-syncer.${namespace}.svc`),
      issueCertificate(`orders-syncer.${namespace}.svc`),
    ]);
    const metadata = { namespace, name: 'orders-tls' };
    await client.create(
      secrets,
      {
        metadata,
        type: 'kubernetes.io/tls',
        data: secretData({ ...right, 'ca.crt': wrong['ca.crt'] }),
      },
      { signal },
    );
    const set = await ground.untilMade(namespace, 'orders-syncer');
    await using syncer = await PodProcess.start(client, set, address);
    await ground.runPod(set, address);
    const refusing = await ground.untilSync(
      namespace,
      'the certificate is refused',
      (status) => readiness(status) === 'False CertificateNotTrusted',
    );
    const { message = '' } = findCondition(refusing.conditions, 'Ready') ?? {};
    assert.match(
      message,
      new RegExp(
        `^the syncer old in the pod orders-syncer-0: its certificate is refused \\(.+\\): it must be valid for orders-syncer.${namespace}.svc and signed by the authority in ca.crt of the Secret in tls.secretName$`,
      ),
    );
    assert.equal(refusing.startedAt, undefined);

    const data = secretData({ 'ca.crt': right['ca.crt'] });
    await client.patch(secrets, metadata, { data }, { signal });
    await ground.untilSync(
      namespace,
      'changes are applied',
      (status) => readiness(status) === 'True InSync',
    );
    const [container] = set.spec?.template.spec?.containers ?? [];
    assert.equal(container?.livenessProbe?.httpGet?.scheme, 'HTTPS');
    assert.equal(container.readinessProbe?.httpGet?.scheme, 'HTTPS');
    const told = (await client.list(events, { namespace, signal })).items;
    assert.ok(told.some(({ reason }) => reason === 'CertificateNotTrusted'));
    const all = JSON.stringify([told, await ground.get(clusterSyncs, namespace, 'orders')]);
    assert.doesNotMatch(all, /PRIVATE KEY|BEGIN CERTIFICATE/);
    await syncer.end();
  });
});
