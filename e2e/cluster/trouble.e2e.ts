import assert from 'node:assert/strict';
import { findCondition } from '../../operator/kube/conditions.ts';
import type { KubeObject } from '../../operator/kube/resource.ts';
import { tokenOf } from '../../operator/operand/token-key.ts';
import { countAndHash } from '../ground/compare.ts';
import { testPassword } from '../ground/mongod/users.ts';
import type { Cluster } from '../ground/kubernetes/cluster.ts';
import { operatorNamespace } from '../ground/kubernetes/operator-release.ts';
import { until } from '../ground/until.ts';
import {
  example,
  hasCaughtUp,
  lookInto,
  operatorSelector,
  syncName,
  withMigration,
} from './migration.ts';
import { assertNoTokens, assertToldNowhere } from './secrecy.ts';

const restartCounts = '--output=jsonpath={.items[*].status.containerStatuses[*].restartCount}';

describe('a ClusterSync in trouble', () => {
  it('says that a password is wrong, disturbs nobody, continues when it is corrected, and tells nobody any password', async () => {
    await withMigration('wrong-password', { scale: 0.001 }, async (migration) => {
      const { cluster, namespace, destination } = migration;
      const operatorRestarts = async (): Promise<string> => {
        const where = `--namespace=${operatorNamespace}`;
        return await cluster.kubectl(['get', 'pods', operatorSelector, where, restartCounts]);
      };
      const restartsBefore = await operatorRestarts();
      const wrong = 'not-the-password';
      const uri = new URL(destination.uri('syncer'));
      uri.password = wrong;
      await namespace.putUris({ 'new-mongodb': uri.href });
      await namespace.apply(await example('clustersync.yaml'));
      const stuck = await namespace.untilSync(
        syncName,
        'it is stalled',
        ({ status }) => findCondition(status?.conditions, 'Stalled')?.status === 'True',
      );
      const stalled = findCondition(stuck.status?.conditions, 'Stalled');
      assert.equal(stalled?.reason, 'AuthenticationFailed');
      assert.equal(stuck.status?.phase, 'Stalled');
      assert.ok(!JSON.stringify(stuck).includes(wrong));
      await until('there is an event', async () => {
        const events = await namespace.kubectl(['get', 'events', '--output=json']);
        return hasWarning(events, 'AuthenticationFailed');
      });

      assert.equal(await operatorRestarts(), restartsBefore);
      assert.equal(await namespace.kubectl(['get', 'pods', restartCounts]), '0');
      await namespace.putUris({ 'new-mongodb': destination.uri('syncer') });
      await namespace.untilSync(syncName, 'it has caught up', hasCaughtUp);

      await namespace.apply(await example('syncverification.yaml'));
      await cluster.waitFor(`pod/${syncName}-verifier-0`, 'condition=Ready', {
        namespace: namespace.name,
      });
      await assertNoTokens(cluster, namespace.name);
      const key = await keyOf(cluster);
      const tokens = await Promise.all(
        ['ClusterSync', 'SyncVerification'].map(async (kind) => {
          const object = await namespace.kubectl(['get', kind, syncName, '--output=json']);
          return tokenOf(key, JSON.parse(object) as KubeObject);
        }),
      );
      for (const place of [namespace.name, operatorNamespace]) {
        await assertToldNowhere(cluster, place, [wrong, testPassword, ...tokens]);
      }
    });
  });

  it('says what refuses its pods, and continues when that lets them be', async () => {
    await withMigration('refused-pods', { scale: 0.001 }, async ({ namespace }) => {
      await namespace.kubectl(['create', 'quota', 'few', '--hard=pods=0']);
      await namespace.apply(await example('clustersync.yaml'));
      const refused = await namespace.untilSync(
        syncName,
        'its pod is refused',
        ({ status }) => findCondition(status?.conditions, 'Ready')?.reason === 'PodCreationFailed',
      );
      assert.match(
        findCondition(refused.status?.conditions, 'Ready')?.message ?? '',
        /^the pod shop-syncer-0 cannot be created: pods "shop-syncer-0" is forbidden: exceeded quota: few, requested: pods=1, used: pods=0, limited: pods=0$/,
      );
      await namespace.kubectl(['delete', 'quota', 'few']);
      await namespace.untilSync(syncName, 'it has caught up', hasCaughtUp);
    });
  });

  it('is deleted with all that was made for it, and leaves both databases alone', async () => {
    await withMigration('deleted', { scale: 0.01 }, async (migration) => {
      const { cluster, namespace, source, destination } = migration;
      await namespace.apply(await example('clustersync.yaml'));
      await namespace.apply(await example('syncverification.yaml'));
      await namespace.untilSync(syncName, 'it has caught up', hasCaughtUp);
      await cluster.waitFor(`pod/${syncName}-verifier-0`, 'condition=Ready', {
        namespace: namespace.name,
      });
      const before = await contentsOf(source.uri('admin'), destination.uri('admin'));

      const kinds = 'statefulsets,services,secrets,networkpolicies,pods';
      const list = ['get', kinds, '--output=name'];
      const made = (await namespace.kubectl(list)).trim().split('\n').sort();
      assert.ok(made.includes(`statefulset.apps/${syncName}-syncer`), made.join());
      assert.ok(made.includes(`statefulset.apps/${syncName}-verifier`), made.join());
      await namespace.kubectl(['delete', 'syncverification,clustersync', syncName]);
      const kept = ['secret/new-mongodb', 'secret/old-mongodb'];
      for (const name of made.filter((each) => !kept.includes(each))) {
        await cluster.waitFor(name, 'delete', { namespace: namespace.name });
      }
      const left = (await namespace.kubectl(list)).trim().split('\n').sort();
      assert.deepEqual(left, kept);

      assert.deepEqual(await contentsOf(source.uri('admin'), destination.uri('admin')), before);
      const state = await lookInto(destination, 'clustersync_internal', async (db) => {
        return (await db.collection('sync').findOne())?.['state'] as unknown;
      });
      assert.equal(state, 'RUNNING');
    });
  });
});

/** What the operator derives the tokens of the APIs with. */
async function keyOf(cluster: Cluster): Promise<Buffer> {
  const path = '--output=jsonpath={.data.key}';
  const names = await cluster.kubectl([
    ...['get', 'secrets', '--namespace', operatorNamespace, '--output=name'],
  ]);
  const name = names.split('\n').find((each) => each.endsWith('-api-key')) ?? '';
  const key = await cluster.kubectl(['get', name, '--namespace', operatorNamespace, path]);
  assert.notEqual(key, '');
  return Buffer.from(key, 'base64');
}

async function contentsOf(...uris: readonly string[]): Promise<unknown> {
  return await Promise.all(uris.map(async (uri) => await countAndHash(uri)));
}

function hasWarning(events: string, reason: string): boolean {
  const { items } = JSON.parse(events) as {
    items: { type: string; reason: string }[];
  };
  return items.some((event) => event.type === 'Warning' && event.reason === reason);
}
