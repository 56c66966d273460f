import assert from 'node:assert/strict';
import {
  networkPolicies,
  pods,
  secrets,
  statefulSets,
} from '../../../operator/kube/builtin-resources.ts';
import { syncerPort } from '../../../operator/clustersync/resources.ts';
import { findCondition } from '../../../operator/kube/conditions.ts';
import type { KubeClient } from '../../../operator/kube/client.ts';
import { managedLabels } from '../../../operator/operand/names.ts';
import { verifierPort } from '../../../operator/verification/resources.ts';
import { OperatorProcess } from '../../ground/operator-process.ts';
import { until } from '../../ground/until.ts';
import { OperatorGround, readiness } from '../operator/operator-ground.ts';
import { putNode } from '../operator/played-node.ts';
import { applying, StandIn } from '../operator/stand-in.ts';
import { helm, chartFolder, releaseName, releaseNamespace } from './helm.ts';
import { operatorAccount, operatorConfig } from './operator-account.ts';

const signal = new AbortController().signal;
const keyRef = { namespace: releaseNamespace, name: `${releaseName}-api-key` };

describe('the operator, with the rights that the chart gives it', () => {
  let ground: OperatorGround;
  let client: KubeClient;

  before(async () => {
    ground = await OperatorGround.start();
    ({ client } = ground);
    const body = { metadata: { name: releaseNamespace } };
    await client.raw({ method: 'POST', path: '/api/v1/namespaces', body, signal });
    await install();
  });

  after(async () => {
    await ground[Symbol.asyncDispose]();
  });

  /** Installs or upgrades the release; nobody runs its pods. */
  async function install(...more: readonly string[]): Promise<void> {
    const args = ['upgrade', '--install', releaseName, chartFolder, '--set=crds.enabled=false'];
    const image = '--set=image.repository=example.dev/clustersync,image.tag=test';
    const env = { KUBECONFIG: ground.kubeconfig };
    await helm([...args, image, ...more, '--namespace', releaseNamespace], { env });
  }

  /** Runs the operator as the Deployment does, with the token of its account. */
  async function withOperator(work: (operator: OperatorProcess) => Promise<void>): Promise<void> {
    const config = await operatorConfig(ground.server, client);
    const deployment = JSON.parse(
      await ground.kubectl(
        ...['get', 'deployment', releaseName, '--namespace', releaseNamespace, '--output=json'],
      ),
    ) as { spec: { template: { spec: { containers: [{ args: string[] }] } } } };
    const { args } = deployment.spec.template.spec.containers[0];
    const egress = args.find((each) => each.startsWith('--operandEgress=')) ?? '';
    await using operator = await OperatorProcess.start({
      kubeconfig: config.exportConfig(),
      options: {
        leaseNamespace: releaseNamespace,
        apiKeySecret: keyRef.name,
        operandEgress: egress.replace('--operandEgress=', ''),
      },
    });
    await work(operator);
    // It gives its Lease back, so that the next one need not wait.
    operator.kill();
    await operator.ended();
  }

  async function keyOf(): Promise<string | undefined> {
    return (await client.get(secrets, keyRef, { signal })).data?.['key'];
  }

  it('brings a sync to where its changes are applied, and makes no Secret', async () => {
    assert.equal(await keyOf(), undefined);
    const { namespace, address } = await ground.newPlace();
    await using syncer = await StandIn.start(address, 27182, { progress: applying });
    await withOperator(async () => {
      await ground.createSync(namespace);
      await ground.runPod(await ground.untilMade(namespace, 'orders-syncer'), address);
      await ground.untilSync(namespace, 'in sync', (status) => readiness(status) === 'True InSync');
    });
    assert.deepEqual(syncer.commandNames, []);
    const writes = await ground.server.auditedWrites();
    const ofSecrets = writes.filter(
      ({ user, resource }) => user === operatorAccount && resource === 'secrets',
    );
    assert.deepEqual(
      ofSecrets.map(({ verb, namespace: where, name }) => [verb, where, name]),
      [['update', keyRef.namespace, keyRef.name]],
    );
  });

  it('tells which right it lacks to replace a lost pod, and does so once the chart gives it', async () => {
    const { namespace, address } = await ground.newPlace();
    await using syncer = await StandIn.start(address, 27182, { progress: applying });
    await putNode(client, 'node-7', { ready: 'Unknown', seconds: 9_000 });
    const lacks = async (right: string): Promise<void> => {
      await ground.untilSync(namespace, `it lacks to ${right}`, ({ conditions }) => {
        const { status, reason, message = '' } = findCondition(conditions, 'Stalled') ?? {};
        const isTold = message.includes(
          `it may not ${right}; the chart's value replaceLostPods.enabled lets it`,
        );
        return status === 'True' && reason === 'NodeUnresponsive' && isTold;
      });
    };
    await withOperator(async () => {
      await ground.createSync(namespace, { syncer: { replaceLostPodsAfterSeconds: 300 } });
      const set = await ground.untilMade(namespace, 'orders-syncer');
      await ground.runPod(set, address, { nodeName: 'node-7' });
      const pod = { namespace, name: 'orders-syncer-0' };
      await client.delete(pods, pod, { signal, gracePeriodSeconds: 1 });
      await lacks('read nodes');
      await letReadNodes();
      await lacks('delete pods');
      await install('--set=replaceLostPods.enabled=true');
      await until('the pod is gone', async () => {
        return (await ground.get(pods, namespace, pod.name)) === undefined;
      });
    });
    assert.deepEqual(syncer.commandNames, []);
  });

  /** Gives the operator's account half of what the chart would give it. */
  async function letReadNodes(): Promise<void> {
    const metadata = { name: 'read-nodes' };
    const rules = [{ apiGroups: [''], resources: ['nodes'], verbs: ['get'] }];
    const path = '/apis/rbac.authorization.k8s.io/v1';
    const body = { metadata, rules };
    await client.raw({ method: 'POST', path: `${path}/clusterroles`, body, signal });
    const binding = {
      metadata,
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: metadata.name },
      subjects: [{ kind: 'ServiceAccount', namespace: releaseNamespace, name: releaseName }],
    };
    await client.raw({
      method: 'POST',
      path: `${path}/clusterrolebindings`,
      body: binding,
      signal,
    });
  }

  it('keeps syncers from the metadata of a cloud, and itself from all but whom it needs', async () => {
    const { namespace } = await ground.newPlace();
    await withOperator(async () => {
      await ground.createSync(namespace);
      await ground.untilMade(namespace, 'orders-syncer');
    });
    const policy = await ground.get(networkPolicies, namespace, 'orders-syncer');
    assert.deepEqual(policy?.spec?.policyTypes, ['Ingress', 'Egress']);
    const blocks = policy.spec.egress?.flatMap(({ to }) =>
      to?.flatMap((peer) => peer.ipBlock ?? []),
    );
    assert.deepEqual(
      blocks?.filter((block) => block !== undefined),
      [
        { cidr: '0.0.0.0/0', except: ['169.254.0.0/16', '100.100.100.200/32'] },
        { cidr: '::/0', except: ['fe80::/10', 'fd00:ec2::/32', 'fd20:ce::254/128'] },
      ],
    );
    const own = await ground.get(networkPolicies, releaseNamespace, releaseName);
    assert.deepEqual(own?.spec?.policyTypes, ['Ingress', 'Egress']);
    const [anywhere, operands, ...others] = own.spec.egress ?? [];
    assert.deepEqual(others, []);
    assert.deepEqual(
      anywhere?.ports?.map(({ port }) => port),
      [53, 53, 443, 6443, 8443, 16443],
    );
    assert.deepEqual(
      operands?.ports?.map(({ port }) => port),
      [syncerPort, verifierPort],
    );
    assert.deepEqual(operands.to?.[0]?.podSelector?.matchLabels, managedLabels);
  });

  it('keeps the key of its API tokens over upgrades and restarts', async () => {
    const key = await keyOf();
    assert.equal(Buffer.from(key ?? '', 'base64').length, 32);
    await install();
    assert.equal(await keyOf(), key);
    const { namespace } = await ground.newPlace();
    await withOperator(async () => {
      await ground.createSync(namespace);
      await ground.untilMade(namespace, 'orders-syncer');
    });
    assert.equal(await keyOf(), key);
  });

  it('makes another key where the Secret was emptied, and pods that take the tokens of that', async () => {
    const former = await keyOf();
    const { namespace } = await ground.newPlace();
    const argument = async (): Promise<string | undefined> => {
      const set = await ground.get(statefulSets, namespace, 'orders-syncer');
      const args = set?.spec?.template.spec?.containers[0]?.args;
      return args?.find((each) => each.startsWith('--apiTokenHash='));
    };
    let before: string | undefined;
    await withOperator(async () => {
      await ground.createSync(namespace);
      await ground.untilMade(namespace, 'orders-syncer');
      before = await argument();
      assert.ok(before);
    });
    await client.patch(secrets, keyRef, { data: null }, { signal });
    await withOperator(async () => {
      await until('the pods have another token', async () => (await argument()) !== before);
    });
    assert.notEqual(await keyOf(), former);
  });

  it('ends, and says so, where there is no such Secret, or it holds something else', async () => {
    const saidBy = async (): Promise<string> => {
      let log = '';
      await withOperator(async (operator) => {
        await operator.ended();
        log = await operator.log();
      });
      return log;
    };
    await client.patch(secrets, keyRef, { data: { key: btoa('short') } }, { signal });
    assert.match(await saidBy(), /key of the Secret clustersync\/clustersync-api-key has 5 bytes/);
    await client.delete(secrets, keyRef, { signal });
    assert.match(await saidBy(), /there is no Secret clustersync\/clustersync-api-key/);
  });
});
