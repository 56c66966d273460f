import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { parseAllDocuments } from 'yaml';
import { clusterSyncs } from '../../../operator/api/clustersync.ts';
import { syncVerifications } from '../../../operator/api/sync-verification.ts';
import { secrets } from '../../../operator/kube/builtin-resources.ts';
import type { KubeObject, Resource } from '../../../operator/kube/resource.ts';
import { until } from '../../ground/until.ts';
import { render } from '../chart/helm.ts';
import { argoHealth, kstatusOf } from './health.ts';
import type { OperatorGround, Place } from './operator-ground.ts';
import { applying, committed, copying, idle, StandIn } from './stand-in.ts';
import { useOperatorGround } from './use-operator-ground.ts';

const signal = new AbortController().signal;
const name = 'shop';
const examples = new URL('../../../docs/examples/', import.meta.url);
const counts = { totalTasks: 1, completedTasks: 1, failedTasks: 0, metadataMismatchTasks: 0 };
const checked = { phase: 'idle', error: null, verificationStatus: counts };

describe('the examples for GitOps', () => {
  let ground: OperatorGround;
  useOperatorGround((started) => {
    ground = started;
  });

  async function newPlace(): Promise<Place> {
    const place = await ground.newPlace();
    const { namespace } = place;
    for (const side of ['old', 'new']) {
      const given = await ground.get(secrets, namespace, `${side}-uri`);
      const metadata = { namespace, name: `${side}-mongodb` };
      await ground.client.create(
        secrets,
        { metadata, data: { uri: given?.data?.['uri'] ?? '' } },
        { signal },
      );
    }
    return place;
  }

  /** Waits until Argo CD and Flux show a resource so; Argo CD with this message. */
  async function untilShown(
    resource: Resource<KubeObject>,
    namespace: string,
    [inArgo, inFlux]: readonly [argo: string, flux: string],
    message: RegExp,
  ): Promise<void> {
    let object: KubeObject | undefined;
    let shown = '';
    try {
      await until('health', async () => {
        object = await ground.get<KubeObject>(resource, namespace, name);
        assert.ok(object);
        const health = await argoHealth(object, resource.kind);
        shown = `${health.status} ${health.message}`;
        return health.status === inArgo && message.test(health.message);
      });
    } catch (error) {
      throw new Error(`not ${inArgo} ${String(message)}, but ${shown}`, { cause: error });
    }
    assert.ok(object);
    assert.equal((await kstatusOf(object)).status, inFlux, shown);
  }

  for (const [way, verdict, flags] of [
    ['by the client', 'equal', []],
    ['on the server', 'different', ['--server-side', '--field-manager=argocd-controller']],
  ] as const) {
    it(`applied ${way} are no different while the sync runs, and Argo CD knows its health`, async () => {
      const { namespace, address } = await newPlace();
      await using syncer = await StandIn.start(address, 27182, { progress: idle });
      await using verifier = await StandIn.start(address, 27020, {
        progress: { ...checked, verdict: null },
      });
      const options = [`--namespace=${namespace}`, '--filename=-', ...flags];
      const apply = async (state: string): Promise<string> => {
        const text = await exampleText(['clustersync.yaml', 'syncverification.yaml'], state);
        return await ground.kubectlWithInput(text, 'apply', ...options);
      };
      /** Fails where applying it again would change anything. */
      const assertUnchanged = async (state: string): Promise<void> => {
        const text = await exampleText(['clustersync.yaml', 'syncverification.yaml'], state);
        const dryRun = ['apply', ...options, '--dry-run=server', '--output=json'];
        const applied = JSON.parse(await ground.kubectlWithInput(text, ...dryRun)) as {
          readonly items: readonly KubeObject[];
        };
        const held = [clusterSyncs, syncVerifications].map(async (resource) => {
          return await ground.get<KubeObject>(resource, namespace, name);
        });
        assert.deepEqual(
          applied.items.map(withoutStatus),
          (await Promise.all(held)).map(withoutStatus),
        );
      };

      await apply('Running');
      await untilShown(clusterSyncs, namespace, ['Progressing', 'InProgress'], /^PodPending: /);
      await untilShown(
        syncVerifications,
        namespace,
        ['Progressing', 'InProgress'],
        /^WaitingForInitialCopy: /,
      );
      await assertUnchanged('Running');

      syncer.onCommand = (command) => {
        if (command === 'start') syncer.progress = { progress: copying };
        if (command === 'pause') syncer.progress = { progress: { ...applying, state: 'PAUSED' } };
        if (command === 'resume') syncer.progress = { progress: applying };
        if (command === 'commit') syncer.progress = { progress: committed };
      };
      await ground.runPod(await ground.untilMade(namespace, `${name}-syncer`), address);
      await untilShown(clusterSyncs, namespace, ['Progressing', 'InProgress'], /^InitialCopy: /);
      syncer.progress = { progress: applying };
      await untilShown(clusterSyncs, namespace, ['Healthy', 'Current'], /^InSync: /);
      const generations = await generationsIn(namespace);
      await apply('Running');
      assert.deepEqual(await generationsIn(namespace), generations);

      await apply('Paused');
      await untilShown(clusterSyncs, namespace, ['Suspended', 'Current'], /^Paused: /);
      await assertUnchanged('Paused');

      await apply('Running');
      await untilShown(clusterSyncs, namespace, ['Healthy', 'Current'], /^InSync: /);
      const error = 'AuthenticationFailed: the source refuses the password';
      syncer.progress = { error };
      await untilShown(clusterSyncs, namespace, ['Degraded', 'Failed'], /^AuthenticationFailed: /);
      syncer.progress = { progress: applying };

      await apply('Committed');
      await untilShown(clusterSyncs, namespace, ['Healthy', 'Current'], /^Committed: /);
      verifier.progress = { progress: { ...checked, verdict } };
      await ground.runPod(await ground.untilMade(namespace, `${name}-verifier`), address);
      const [status, message] =
        verdict === 'equal'
          ? (['Healthy', /^Completed: /] as const)
          : // It has done what it is for: only its data is not well.
            (['Degraded', /^Different: /] as const);
      await untilShown(syncVerifications, namespace, [status, 'Current'], message);
      await assertUnchanged('Committed');
    });
  }

  it('show as in progress what the operator has not seen yet', async () => {
    const metadata = { name, generation: 2 };
    const seen = { observedGeneration: 1, conditions: [{ type: 'Ready', status: 'True' }] };
    for (const kind of ['ClusterSync', 'SyncVerification']) {
      for (const status of [undefined, {}, seen]) {
        const object = { apiVersion: 'clustersync.dev/v1alpha1', kind, metadata, status };
        assert.equal((await argoHealth(object, kind)).status, 'Progressing');
        if (status === seen) assert.equal((await kstatusOf(object)).status, 'InProgress');
      }
    }
  });

  it('install the chart with values that it takes', async () => {
    const [application] = await documentsOf('argo-cd/operator.yaml');
    const [, , release] = await documentsOf('flux/operator.yaml');
    const values = [
      at(application, 'spec', 'source', 'helm', 'valuesObject'),
      at(release, 'spec', 'values'),
    ];
    for (const each of values) {
      assert.ok(typeof each === 'object' && each !== null);
      const objects = await render({ ...each, crds: { enabled: false } });
      assert.match(JSON.stringify(objects), /"registry\.example\.com\/clustersync:0\.1\.0"/);
    }
    assert.equal(at(application, 'spec', 'source', 'path'), 'charts/clustersync');
    assert.equal(at(release, 'spec', 'chart', 'spec', 'chart'), 'charts/clustersync');
  });

  async function generationsIn(namespace: string): Promise<unknown> {
    const sync = await ground.get(clusterSyncs, namespace, name);
    const verification = await ground.get(syncVerifications, namespace, name);
    return [sync?.metadata.generation, verification?.metadata.generation];
  }
});

/** What a file can apply: the operator may write a status at any time, and the server says when each field was set by whom. */
function withoutStatus(object: KubeObject | undefined): object {
  assert.ok(object);
  const metadata = Object.entries(object.metadata).filter(
    ([field]) => field !== 'resourceVersion' && field !== 'managedFields',
  );
  const fields = Object.entries(object).filter(([field]) => field !== 'status');
  return { ...Object.fromEntries(fields), metadata: Object.fromEntries(metadata) };
}

async function exampleText(files: readonly string[], state: string): Promise<string> {
  const texts = files.map(async (file) => await readFile(new URL(file, examples), 'utf8'));
  return (await Promise.all(texts)).join('\n---\n').replace('state: Running', `state: ${state}`);
}

async function documentsOf(file: string): Promise<unknown[]> {
  const documents = parseAllDocuments(await readFile(new URL(file, examples), 'utf8'));
  assert.ok(Array.isArray(documents));
  return documents.map((document) => document.toJS() as unknown);
}

function at(object: unknown, ...path: readonly string[]): unknown {
  return path.reduce<unknown>((value, key) => (value as Record<string, unknown>)[key], object);
}
