import assert from 'node:assert/strict';
import { rootCertificates } from 'node:tls';
import { MongoClient } from 'mongodb';
import { clusterSyncs } from '../../../operator/api/clustersync.ts';
import {
  configMaps,
  events,
  secrets,
  statefulSets,
} from '../../../operator/kube/builtin-resources.ts';
import { findCondition } from '../../../operator/kube/conditions.ts';
import { secretsHashAnnotation } from '../../../operator/operand/operand-secrets.ts';
import { createGuardedFolder, type GuardedFolder } from '../../ground/guarded-folder.ts';
import { startReplicaSet, type ReplicaSet } from '../../ground/mongod/replica-set.ts';
import {
  createCertificateUser,
  issueServerTls,
  type ServerTls,
  uriWithoutUser,
} from '../../ground/mongod/server-tls.ts';
import { testPassword } from '../../ground/mongod/users.ts';
import { until } from '../../ground/until.ts';
import { secretData, uriData } from './custom-resources.ts';
import type { OperatorGround } from './operator-ground.ts';
import { readiness } from './operator-ground.ts';
import { PodProcess } from './pod-process.ts';
import { useOperatorGround } from './use-operator-ground.ts';

const signal = new AbortController().signal;

describe('the credentials of a deployment', () => {
  let ground: OperatorGround;
  let folder: GuardedFolder;
  let tls: ServerTls;
  const sets: ReplicaSet[] = [];
  useOperatorGround((started) => {
    ground = started;
  });

  before(async () => {
    folder = await createGuardedFolder();
    tls = await issueServerTls(folder.path, 'localhost');
    for (const name of ['source', 'destination']) {
      const advertisedHost = 'localhost';
      sets.push(await startReplicaSet({ members: 1, name, advertisedHost, ...tls.options }));
    }
  });
  after(async () => {
    for (const set of sets) await set.stop();
    await folder.remove();
  });

  async function untilNotReady(namespace: string, reason: string, message: RegExp): Promise<void> {
    await ground.untilSync(namespace, `${reason} ${String(message)}`, (status) => {
      const said = findCondition(status.conditions, 'Ready')?.message ?? '';
      return readiness(status) === `False ${reason}` && message.test(said);
    });
  }

  async function untilInSync(namespace: string): Promise<void> {
    await ground.untilSync(
      namespace,
      'it is in sync',
      (status) => readiness(status) === 'True InSync',
    );
  }

  /** What the condition SecretProblem says. */
  async function problemOf(namespace: string): Promise<string> {
    const sync = await ground.get(clusterSyncs, namespace, 'orders');
    const { reason = '', message = '' } =
      findCondition(sync?.status?.conditions, 'SecretProblem') ?? {};
    return `${reason}: ${message}`;
  }

  async function untilProblem(namespace: string, expected: string): Promise<void> {
    await until(`it is said: ${expected}`, async () => {
      return (await problemOf(namespace)).startsWith(expected);
    });
  }

  async function untilNoProblem(namespace: string): Promise<void> {
    await until('all is well', async () => (await problemOf(namespace)) === ': ');
  }

  async function hashOf(namespace: string): Promise<string | undefined> {
    const now = await ground.get(statefulSets, namespace, 'orders-syncer');
    return now?.spec?.template.metadata?.annotations?.[secretsHashAnnotation];
  }

  it('are waited for, mounted, and replaced with the pods; and can be named later', async () => {
    const [source, destination] = sets;
    assert.ok(source && destination);
    const { client } = ground;
    const { namespace, address } = await ground.newPlace(await createCertificateUser(source));
    const uri = uriData(`${uriWithoutUser(destination)}?replicaSet=destination`);
    await client.patch(secrets, { namespace, name: 'new-uri' }, { data: uri }, { signal });
    const create = async (name: string, texts: Readonly<Record<string, string>>): Promise<void> => {
      await client.create(
        secrets,
        { metadata: { namespace, name }, data: secretData(texts) },
        { signal },
      );
    };
    const put = async (name: string, texts: Readonly<Record<string, string>>): Promise<void> => {
      await client.patch(secrets, { namespace, name }, { data: secretData(texts) }, { signal });
    };
    const certificates = {
      caSecretRef: { name: 'authority', key: 'bundle.pem' },
      clientCertificateSecretRef: { name: 'syncer' },
    };
    const sides = (from: object, to: object) => ({
      source: { name: 'old', uriSecretRef: { name: 'old-uri' }, tls: from },
      destination: {
        ...{ name: 'new', uriSecretRef: { name: 'new-uri' }, tls: to },
        auth: { userSecretRef: { name: 'login' }, passwordSecretRef: { name: 'login', key: 'pw' } },
      },
    });

    await ground.createSync(namespace, sides(certificates, certificates));
    await untilNotReady(namespace, 'SecretNotFound', /^there is no Secret authority$/);
    await create('login', { username: 'syncer', pw: testPassword });
    await create('authority', { 'ca.crt': tls.served['ca.crt'] });
    await untilNotReady(
      namespace,
      'SecretNotFound',
      /^the Secret authority has no key bundle\.pem$/,
    );
    await create('syncer', {
      'tls.crt': tls.client['tls.crt'],
      'tls.key': tls.served['tls.key'],
    });
    await put('authority', { 'bundle.pem': 'BEGIN of something else' });
    await untilNotReady(
      namespace,
      'InvalidCertificate',
      /^bundle\.pem in the Secret authority is not, or not only, PEM certificates$/,
    );
    await put('authority', { 'bundle.pem': tls.served['ca.crt'] });
    await untilNotReady(
      namespace,
      'InvalidCertificate',
      /^tls\.crt and tls\.key in the Secret syncer cannot be used: .+/,
    );
    assert.equal(await ground.get(statefulSets, namespace, 'orders-syncer'), undefined);

    await put('syncer', { 'tls.key': tls.client['tls.key'] });
    const set = await ground.untilMade(namespace, 'orders-syncer');
    await using writer = new MongoClient(source.uri('admin'));
    await using reader = new MongoClient(destination.uri('admin'));
    await writer.db('shop').collection<{ _id: number }>('items').insertOne({ _id: 1 });
    {
      await using syncer = await PodProcess.start(client, set, address);
      await ground.runPod(set, address);
      await untilInSync(namespace);

      // What no process could use replaces no pods, neither in the Secret nor by another one.
      const before = await ground.get(statefulSets, namespace, 'orders-syncer');
      await put('authority', { 'bundle.pem': 'BEGIN of something else' });
      await untilProblem(namespace, 'InvalidCertificate');
      await put('authority', { 'bundle.pem': tls.served['ca.crt'] });
      const nowhere = { tls: { ...certificates, caSecretRef: { name: 'nowhere' } } };
      const ref = { namespace, name: 'orders' };
      await client.patch(clusterSyncs, ref, { spec: { source: nowhere } }, { signal });
      await untilProblem(namespace, 'SecretNotFound: there is no Secret nowhere');
      assert.deepEqual(
        (await ground.get(statefulSets, namespace, 'orders-syncer'))?.spec?.template,
        before?.spec?.template,
      );
      await client.patch(
        clusterSyncs,
        ref,
        { spec: { source: { tls: certificates } } },
        { signal },
      );
      await untilNoProblem(namespace);
      await untilInSync(namespace);
      await syncer.end();
    }

    // Another authority joins, as before a rotation: other pods read it.
    const former = await hashOf(namespace);
    assert.ok(former);
    await put('authority', { 'bundle.pem': tls.served['ca.crt'] + tls.client['ca.crt'] });
    await until('the pods are to be replaced', async () => (await hashOf(namespace)) !== former);

    // The destination's certificates move to another Secret.
    await create('other', { 'ca.crt': tls.served['ca.crt'] });
    const { source: from, destination: to } = sides(certificates, {
      ...certificates,
      caSecretRef: { name: 'other', key: 'ca.crt' },
    });
    const ref = { namespace, name: 'orders' };
    await client.patch(clusterSyncs, ref, { spec: { source: from, destination: to } }, { signal });
    await until('they are mounted', async () => {
      const now = await ground.get(statefulSets, namespace, 'orders-syncer');
      const volumes = now?.spec?.template.spec?.volumes ?? [];
      const authority = volumes.find(({ name }) => name === 'destination-ca');
      return authority?.secret?.secretName === 'other';
    });
    await assert.rejects(
      client.patch(clusterSyncs, ref, { spec: { source: { ...from, name: 'older' } } }, { signal }),
      /this cannot be changed; delete the ClusterSync/,
    );

    const replaced = await ground.get(statefulSets, namespace, 'orders-syncer');
    assert.ok(replaced);
    await using syncer = await PodProcess.start(client, replaced, address);
    await ground.runPod(replaced, address, { containerID: 'containerd://second' });
    await writer.db('shop').collection<{ _id: number }>('items').insertOne({ _id: 2 });
    await until('changes are applied', async () => {
      return (await reader.db('shop').collection('items').countDocuments()) === 2;
    });
    await untilInSync(namespace);
    const told = (await client.list(events, { namespace, signal })).items;
    assert.ok(told.some(({ reason }) => reason === 'InvalidCertificate'));
    const all = JSON.stringify([told, await ground.get(clusterSyncs, namespace, 'orders')]);
    assert.doesNotMatch(all, /PRIVATE KEY|BEGIN CERTIFICATE/);
    for (const text of [testPassword, encodeURIComponent(testPassword)])
      assert.ok(!all.includes(text));
    await syncer.end();
  });

  it('may be in a ConfigMap, for servers of another name: waited for, checked, and replaced with the pods', async () => {
    const own = { members: 1 as const, advertisedHost: 'localhost', ...tls.options };
    await using source = await startReplicaSet({ ...own, name: 'old' });
    await using destination = await startReplicaSet({ ...own, name: 'new' });
    const { client } = ground;
    const { namespace, address } = await ground.newPlace(await createCertificateUser(source));
    const uri = uriData(await createCertificateUser(destination));
    await client.patch(secrets, { namespace, name: 'new-uri' }, { data: uri }, { signal });
    const data = secretData({ ...tls.client });
    await client.create(secrets, { metadata: { namespace, name: 'syncer' }, data }, { signal });
    const ref = { namespace, name: 'trusted' };
    const put = async (values: object): Promise<void> => {
      await client.patch(configMaps, ref, values, { signal });
    };
    const trusted = {
      ...{ caConfigMapRef: { name: 'trusted', key: 'constructor' }, serverName: 'localhost' },
      clientCertificateSecretRef: { name: 'syncer' },
    };
    await ground.createSync(namespace, {
      source: { name: 'old', uriSecretRef: { name: 'old-uri' }, tls: trusted },
      destination: { name: 'new', uriSecretRef: { name: 'new-uri' }, tls: trusted },
    });
    await untilNotReady(namespace, 'SecretNotFound', /^there is no ConfigMap trusted$/);
    // More than the operator keeps of one, as in a bundle with all public authorities.
    const authority = [...rootCertificates, tls.served['ca.crt']].join('\n');
    assert.ok(authority.length > 100_000);
    await client.create(configMaps, { metadata: ref, data: { 'ca.crt': authority } }, { signal });
    // What every object of JavaScript has is no key of this one.
    const absent = /^the ConfigMap trusted has no key constructor$/;
    await untilNotReady(namespace, 'SecretNotFound', absent);
    const broken = 'BEGIN of something else';
    await put({ data: { constructor: broken } });
    const invalid = 'constructor in the ConfigMap trusted is not, or not only, PEM certificates';
    await untilNotReady(namespace, 'InvalidCertificate', new RegExp(`^${invalid}$`));
    await put({ data: { constructor: authority } });

    const set = await ground.untilMade(namespace, 'orders-syncer');
    await using syncer = await PodProcess.start(client, set, address);
    await ground.runPod(set, address);
    await untilInSync(namespace);
    const former = await hashOf(namespace);
    assert.ok(former);

    // What no process could use replaces no pods, and neither does the same authority as bytes.
    await put({ data: { constructor: broken } });
    await untilProblem(namespace, `InvalidCertificate: ${invalid}`);
    await client.delete(configMaps, ref, { signal });
    await untilProblem(namespace, 'SecretNotFound: there is no ConfigMap trusted');
    const binaryData = secretData({ constructor: authority });
    await client.create(configMaps, { metadata: ref, binaryData }, { signal });
    await untilNoProblem(namespace);
    assert.equal(await hashOf(namespace), former);

    await put({
      binaryData: secretData({ constructor: `${authority}\n${tls.client['ca.crt']}` }),
    });
    await until('the pods are to be replaced', async () => (await hashOf(namespace)) !== former);
    await syncer.end();
  });
});
