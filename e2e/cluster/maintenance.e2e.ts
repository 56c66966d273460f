import assert from 'node:assert/strict';
import type { Pod } from '../../operator/kube/builtin-resources.ts';
import type { PodOverlay } from '../../operator/operand/pod-template.ts';
import { clusterDeadlineMs } from '../ground/default-deadline.ts';
import { installOperator, operatorNamespace } from '../ground/kubernetes/operator-release.ts';
import { whileSlow } from '../ground/mongod/slow-command.ts';
import { startShopWriter } from '../ground/shop/shop-writer.ts';
import { until } from '../ground/until.ts';
import {
  example,
  hasCaughtUp,
  operatorSelector,
  syncName,
  withMigration,
  type Migration,
} from './migration.ts';
import { commit, incarnationOf, isCopying } from './syncer-pods.ts';

describe('a sync while the cluster is maintained', () => {
  it('continues after an upgrade of the chart, the eviction of every pod and a change of its template, and ends equal', async () => {
    await withMigration('maintenance', { scale: 0.3 }, async (migration) => {
      const { cluster, namespace, source, destination } = migration;
      const { signal } = new AbortController();
      const image = await cluster.loadImage();
      const next = `${image}-next`;
      await cluster.tagImage(image, next);
      const writer = startShopWriter(source.uri('app'), { writesPerSecond: 200, signal });
      try {
        const slow = { command: 'insert', delayMs: 5_000 };
        await whileSlow(destination.uri('admin'), slow, async () => {
          await namespace.apply(await example('clustersync.yaml'));
          await until(
            'documents are copied',
            async () => await isCopying(destination),
            clusterDeadlineMs,
          );
          const first = await incarnationOf(destination, 0);
          const values = [
            ...['replicas=2', 'podDisruptionBudget.enabled=true'],
            `operandPodFields={${podFields.join()}}`,
          ];
          await installOperator(cluster, next, { values });
          const second = await untilReplaced(migration, first);
          assert.equal(await imageOf(migration), next);
          await evictOperators(migration);
          await evict(migration, `${syncName}-syncer-0`, namespace.name);
          const third = await untilReplaced(migration, second);
          await namespace.apply(await example('clustersync-pods.yaml'));
          const patch = { spec: { syncer: { podTemplate: { spec: more(next) } } } };
          await namespace.kubectl([
            ...[
              'patch',
              `clustersync/${syncName}`,
              '--type=merge',
              `--patch=${JSON.stringify(patch)}`,
            ],
          ]);
          await untilReplaced(migration, third);
          await assertTemplated(migration);
        });
        await namespace.untilSync(syncName, 'it has caught up', hasCaughtUp);
      } finally {
        await writer.stop();
        // As the other tests have it.
        await installOperator(cluster, image);
      }
      await commit(migration);
    });
  });
});

/** The fields of clustersync-pods.yaml, and those of {@link more}. */
const podFields = [
  ...['metadata.labels', 'metadata.annotations'],
  ...['serviceAccountName', 'hostAliases', 'topologySpreadConstraints'].map(inSpec),
  ...['volumes', 'initContainers', 'containers'].map(inSpec),
];

function inSpec(field: string): string {
  return `spec.${field}`;
}

/** A volume that a container fills before the program starts, and another one beside it. */
function more(image: string): NonNullable<PodOverlay['spec']> {
  const volumeMounts = [{ name: 'given', mountPath: '/given' }];
  const container = (name: string, program: string) => ({
    ...{ name, image, command: ['node', '-e', program], volumeMounts },
    securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
  });
  return {
    volumes: [{ name: 'given', emptyDir: {} }],
    initContainers: [container('before', "fs.writeFileSync('/given/word', 'given')")],
    containers: [
      { name: 'syncer', env: [{ name: 'TZ', value: 'UTC' }], volumeMounts },
      container('beside', 'setInterval(() => {}, 60_000)'),
    ],
  };
}

/** The pod is as its template says, and all of its containers run. */
async function assertTemplated({ cluster, namespace }: Migration): Promise<void> {
  const name = `${syncName}-syncer-0`;
  const { metadata, spec, status } = JSON.parse(
    await namespace.kubectl(['get', 'pod', name, '--output=json']),
  ) as Pod;
  assert.equal(metadata.labels?.['team'], 'shop');
  assert.equal(metadata.annotations?.['example.com/contact'], 'shop@example.com');
  assert.equal(spec?.serviceAccountName, 'shop-sync');
  assert.deepEqual(spec.hostAliases?.[0]?.hostnames, ['old-0.datacenter.example']);
  assert.deepEqual(
    status?.containerStatuses?.map((each) => [each.name, each.state?.running !== undefined]),
    [
      ['beside', true],
      ['syncer', true],
    ],
  );
  const read = "fs.readFileSync('/given/word', 'utf8') + process.env.TZ";
  const exec = ['exec', name, `--namespace=${namespace.name}`, '--container=syncer', '--'];
  assert.equal((await cluster.kubectl([...exec, 'node', '-p', read])).trim(), 'givenUTC');
}

/** Waits until a process other than the given one copies. */
async function untilReplaced({ destination }: Migration, before: unknown): Promise<unknown> {
  let now: unknown;
  await until(
    'another syncer continues',
    async () => (now = await incarnationOf(destination, 0)) !== before,
    clusterDeadlineMs,
  );
  return now;
}

/** What the syncer runs. */
async function imageOf({ namespace }: Migration): Promise<string> {
  const path = '--output=jsonpath={.spec.containers[0].image}';
  return await namespace.kubectl(['get', 'pod', `${syncName}-syncer-0`, path]);
}

/** Evicts both operators: the second only when there is another one in place of the first. */
async function evictOperators(migration: Migration): Promise<void> {
  const [first = '', second = ''] = await operatorPods(migration);
  await evict(migration, first, operatorNamespace);
  await assert.rejects(evict(migration, second, operatorNamespace), /disruption budget/);
  await until(
    'the second operator may be evicted',
    async () =>
      await evict(migration, second, operatorNamespace).then(
        () => true,
        () => false,
      ),
    clusterDeadlineMs,
  );
}

async function operatorPods({ cluster }: Migration): Promise<readonly string[]> {
  const where = `--namespace=${operatorNamespace}`;
  const printed = await cluster.kubectl([
    ...['get', 'pods', operatorSelector, where, '--output=json'],
  ]);
  const { items } = JSON.parse(printed) as { readonly items: readonly Pod[] };
  // Those of the former version may still be ending.
  return items.flatMap(({ metadata: { name, deletionTimestamp } }) =>
    deletionTimestamp === undefined ? [name] : [],
  );
}

/** Evicts a pod, as draining a node does. Rejects if a PodDisruptionBudget forbids it. */
async function evict({ cluster }: Migration, pod: string, namespace: string): Promise<void> {
  const path = `/api/v1/namespaces/${namespace}/pods/${pod}/eviction`;
  const eviction = {
    apiVersion: 'policy/v1',
    kind: 'Eviction',
    metadata: { name: pod, namespace },
  };
  await cluster.kubectl(['create', '--raw', path, '--filename=-'], {
    input: JSON.stringify(eviction),
  });
}
