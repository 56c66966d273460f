import assert from 'node:assert/strict';
import { clusterSyncs, type ClusterSync } from '../../../operator/api/clustersync.ts';
import { syncVerifications } from '../../../operator/api/sync-verification.ts';
import type { KubeClient } from '../../../operator/kube/client.ts';
import { isInvalid, KubeError } from '../../../operator/kube/kube-error.ts';
import type { KubeObject, Resource } from '../../../operator/kube/resource.ts';
import { installDefinitions, smallestSpec } from './custom-resources.ts';
import { useApiServer } from '../kube/use-api-server.ts';

const namespace = 'default';
const signal = new AbortController().signal;

describe('the rules of the custom resources, on a real API server', function () {
  this.timeout(60_000);
  let client: KubeClient;
  let counter = 0;

  useApiServer(async (_server, itsClient) => {
    client = itsClient;
    await installDefinitions(client);
  });

  async function create<T extends KubeObject>(resource: Resource<T>, spec: object): Promise<T> {
    counter += 1;
    const object = { metadata: { namespace, name: `object-${counter}` }, spec };
    return (await client.create<KubeObject>(resource, object, { signal })) as T;
  }

  async function change(
    object: KubeObject,
    resource: Resource<KubeObject>,
    spec: object,
  ): Promise<void> {
    await client.patch(resource, object.metadata, { spec }, { signal });
  }

  async function refused(attempt: Promise<unknown>, ...expected: RegExp[]): Promise<void> {
    await assert.rejects(attempt, (error) => {
      assert.ok(error instanceof KubeError && isInvalid(error), String(error));
      for (const pattern of expected) assert.match(error.message, pattern);
      return true;
    });
  }

  describe('ClusterSync', () => {
    it('gets its defaults from the schema', async () => {
      const { spec } = await create(clusterSyncs, smallestSpec);
      assert.deepEqual(spec, {
        source: { name: 'old', uriSecretRef: { name: 'old-uri', key: 'uri' } },
        destination: { name: 'new', uriSecretRef: { name: 'new-uri', key: 'uri' } },
        buildIndexes: 'beforeDataCopy',
        enableUserWriteBlocking: false,
        reversible: false,
        state: 'Running',
        direction: 'Forward',
        suspend: false,
        syncer: { logLevel: 'info', resources: { requests: { cpu: '100m', memory: '256Mi' } } },
      });
    });

    it('takes every option', async () => {
      const spec = {
        ...smallestSpec,
        buildIndexes: 'afterDataCopy',
        enableUserWriteBlocking: true,
        reversible: true,
        includeNamespaces: [
          { database: 'shop', collections: ['orders', 'items'] },
          { databaseRegex: { pattern: '^log' }, collectionsRegex: { pattern: 'x', options: 'i' } },
        ],
        excludeNamespaces: [{ database: 'shop', collections: ['items'] }],
        sharding: {
          createSupportingIndexes: true,
          shardingEntries: [
            {
              database: 'shop',
              collection: 'orders',
              shardCollection: { key: [{ a: 1 }, { b: 'hashed' }] },
            },
          ],
        },
        state: 'Running',
        direction: 'Forward',
        suspend: true,
        syncer: {
          image: 'example.dev/syncer@sha256:0123',
          imagePullPolicy: 'Always',
          imagePullSecrets: [{ name: 'registry' }],
          resources: { limits: { cpu: 2, memory: '1.5Gi' } },
          nodeSelector: { disk: 'fast' },
          tolerations: [
            { key: 'spot', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 60 },
          ],
          affinity: { nodeAffinity: { anything: ['goes'] } },
          logLevel: 'debug',
        },
      };
      const created = await create(clusterSyncs, spec);
      assert.deepEqual(created.spec, {
        ...spec,
        source: { name: 'old', uriSecretRef: { name: 'old-uri', key: 'uri' } },
        destination: { name: 'new', uriSecretRef: { name: 'new-uri', key: 'uri' } },
      });
    });

    const refusals: readonly (readonly [string, object, ...RegExp[]])[] = [
      [
        'buildIndexes never with reversible',
        { buildIndexes: 'never', reversible: true, enableUserWriteBlocking: true },
        /buildIndexes never cannot be reversible/,
      ],
      [
        'reversible without write blocking',
        { reversible: true },
        /reversible needs enableUserWriteBlocking/,
      ],
      [
        "a destination of the source's name",
        { destination: { name: 'old', uriSecretRef: { name: 'new-uri' } } },
        /the same name/,
      ],
      [
        'a filter entry with no database',
        { includeNamespaces: [{ collections: ['c'] }] },
        /includeNamespaces\[0\].*exactly one of database and databaseRegex/,
      ],
      [
        'a filter entry with database and databaseRegex',
        { includeNamespaces: [{ database: 'a', databaseRegex: { pattern: 'b' } }] },
        /exactly one of database and databaseRegex/,
      ],
      [
        'a filter entry with collections and collectionsRegex',
        {
          excludeNamespaces: [
            { database: 'a', collections: ['c'], collectionsRegex: { pattern: 'b' } },
          ],
        },
        /excludeNamespaces\[0\].*at most one of collections and collectionsRegex/,
      ],
      ['an empty filter', { includeNamespaces: [] }, /includeNamespaces/],
      [
        'regular expression options that do not exist',
        { includeNamespaces: [{ databaseRegex: { pattern: 'a', options: 'g' } }] },
        /options/,
      ],
      [
        'a shard key without fields',
        {
          sharding: {
            shardingEntries: [{ database: 'a', collection: 'b', shardCollection: { key: [] } }],
          },
        },
        /key/,
      ],
      [
        'a shard key with two fields in one entry',
        {
          sharding: {
            shardingEntries: [
              { database: 'a', collection: 'b', shardCollection: { key: [{ a: 1, b: 1 }] } },
            ],
          },
        },
        /key\[0\]/,
      ],
      ['an unknown state', { state: 'Reversed' }, /state/],
      ['an unknown value of buildIndexes', { buildIndexes: 'later' }, /buildIndexes/],
      [
        'a name that is no label',
        { source: { name: 'Old One', uriSecretRef: { name: 'x' } } },
        /source\.name/,
      ],
      ['a source without a Secret', { source: { name: 'old' } }, /uriSecretRef/],
      [
        'a quantity that is none',
        { syncer: { resources: { limits: { memory: 'much' } } } },
        /memory/,
      ],
      ['an unknown log level', { syncer: { logLevel: 'loud' } }, /logLevel/],
    ];
    for (const [what, spec, ...expected] of refusals) {
      it(`refuses ${what}`, async () => {
        await refused(create(clusterSyncs, { ...smallestSpec, ...spec }), ...expected);
      });
    }

    const changes: readonly (readonly [string, object, object, RegExp])[] = [
      [
        'source',
        {},
        { source: { uriSecretRef: { name: 'another' } } },
        /source.*cannot be changed/,
      ],
      ['destination', {}, { destination: { name: 'another' } }, /destination.*cannot be changed/],
      ['buildIndexes', {}, { buildIndexes: 'never' }, /buildIndexes cannot be changed/],
      [
        'enableUserWriteBlocking',
        {},
        { enableUserWriteBlocking: true },
        /enableUserWriteBlocking cannot be changed/,
      ],
      [
        'reversible',
        { enableUserWriteBlocking: true },
        { reversible: true },
        /reversible cannot be changed/,
      ],
      [
        'includeNamespaces, where there were none',
        {},
        { includeNamespaces: [{ database: 'a' }] },
        /includeNamespaces cannot be changed/,
      ],
      [
        'includeNamespaces, taking them away',
        { includeNamespaces: [{ database: 'a' }] },
        { includeNamespaces: null },
        /includeNamespaces cannot be changed/,
      ],
      [
        'excludeNamespaces',
        { excludeNamespaces: [{ database: 'a' }] },
        { excludeNamespaces: [{ database: 'b' }] },
        /excludeNamespaces cannot be changed/,
      ],
      ['sharding', {}, { sharding: { shardingEntries: [] } }, /sharding.*cannot be changed/],
      [
        'state back from Committed',
        { state: 'Committed' },
        { state: 'Running' },
        /a commit cannot be taken back/,
      ],
      [
        'state from Committed to Paused',
        { state: 'Committed' },
        { state: 'Paused' },
        /a commit cannot be taken back/,
      ],
      [
        'direction before the commit',
        { enableUserWriteBlocking: true, reversible: true },
        { direction: 'Reverse' },
        /only a committed sync can be reversed/,
      ],
      [
        'direction of a sync that is not reversible',
        { state: 'Committed' },
        { direction: 'Reverse', state: 'Running' },
        /only a sync with reversible: true can be reversed/,
      ],
    ];
    for (const [what, spec, changed, expected] of changes) {
      it(`refuses to change ${what}`, async () => {
        const object = await create(clusterSyncs, { ...smallestSpec, ...spec });
        await refused(change(object, clusterSyncs, changed), expected);
      });
    }

    it('lets state, suspend and the pod options be changed', async () => {
      const object = await create(clusterSyncs, {
        ...smallestSpec,
        includeNamespaces: [{ database: 'a' }],
      });
      await change(object, clusterSyncs, { state: 'Paused', suspend: true });
      await change(object, clusterSyncs, {
        state: 'Committed',
        syncer: { image: 'example.dev/syncer:2' },
      });
    });

    it('lets a committed sync be turned round, and back', async () => {
      const object = await create(clusterSyncs, {
        ...smallestSpec,
        enableUserWriteBlocking: true,
        reversible: true,
        state: 'Committed',
      });
      await change(object, clusterSyncs, { direction: 'Reverse', state: 'Running' });
      await change(object, clusterSyncs, { state: 'Committed' });
      await refused(change(object, clusterSyncs, { state: 'Running' }), /cannot be taken back/);
      await change(object, clusterSyncs, { direction: 'Forward', state: 'Paused' });
    });

    it('keeps the progress as it was received, null by null', async () => {
      const { metadata } = await create(clusterSyncs, smallestSpec);
      const apply = async (progress: Record<string, unknown>): Promise<ClusterSync> =>
        await client.applyStatus(
          clusterSyncs,
          {
            metadata: { namespace, name: metadata.name },
            status: { instances: [{ id: 'old', progress }] },
          },
          { signal },
        );
      const idle = {
        state: 'IDLE',
        canCommit: false,
        info: null,
        collectionCopy: null,
        extra: { a: [1, null] },
      };
      assert.deepEqual((await apply(idle)).status?.instances?.[0]?.progress, idle);
      const running = { state: 'RUNNING', lagTimeSeconds: 2 };
      assert.deepEqual((await apply(running)).status?.instances?.[0]?.progress, running);
    });
  });

  describe('SyncVerification', () => {
    it('gets its defaults from the schema', async () => {
      const { spec } = await create(syncVerifications, { clusterSyncRef: { name: 'sync' } });
      assert.deepEqual(spec, {
        clusterSyncRef: { name: 'sync' },
        parallelism: 1,
        verifier: { logLevel: 'info', resources: { requests: { cpu: '100m', memory: '256Mi' } } },
      });
    });

    const smallest = { clusterSyncRef: { name: 'sync' } };
    const filter = { includeNamespaces: [{ database: 'a' }] };

    it('takes every option', async () => {
      const spec = {
        ...smallest,
        filter: {
          includeNamespaces: [{ database: 'shop', collections: ['orders'] }],
          excludeNamespaces: [
            { databaseRegex: { pattern: '^t' }, collectionsRegex: { pattern: 'x', options: 'i' } },
          ],
        },
        parallelism: 32,
        rerun: '2026-01-01',
        ttlSecondsAfterFinished: 0,
        verifier: { image: 'example.dev/verifier:1', resources: {}, logLevel: 'debug' },
      };
      assert.deepEqual((await create(syncVerifications, spec)).spec, spec);
    });

    const refusals: readonly (readonly [string, object, ...RegExp[]])[] = [
      ['to have no sync', { clusterSyncRef: undefined }, /clusterSyncRef/],
      ['a filter of nothing', { filter: {} }, /includeNamespaces, excludeNamespaces or both/],
      ['an empty filter', { filter: { includeNamespaces: [] } }, /filter\.includeNamespaces/],
      [
        'a filter entry with database and databaseRegex',
        { filter: { includeNamespaces: [{ database: 'a', databaseRegex: { pattern: 'b' } }] } },
        /filter\.includeNamespaces\[0\].*exactly one of database and databaseRegex/,
      ],
      [
        'a filter entry with no database',
        { filter: { excludeNamespaces: [{ collections: ['c'] }] } },
        /filter\.excludeNamespaces\[0\].*exactly one of database and databaseRegex/,
      ],
      [
        'a filter entry with collections and collectionsRegex',
        {
          filter: {
            excludeNamespaces: [
              { database: 'a', collections: ['c'], collectionsRegex: { pattern: 'b' } },
            ],
          },
        },
        /at most one of collections and collectionsRegex/,
      ],
      ['a negative ttl', { ttlSecondsAfterFinished: -1 }, /ttlSecondsAfterFinished.*0/],
      ['a ttl that is no number', { ttlSecondsAfterFinished: '1h' }, /ttlSecondsAfterFinished/],
      ['an empty rerun', { rerun: '' }, /rerun/],
      ['no pods', { parallelism: 0 }, /parallelism/],
      ['too many pods', { parallelism: 33 }, /parallelism/],
    ];
    for (const [what, spec, ...expected] of refusals) {
      it(`refuses ${what}`, async () => {
        await refused(create(syncVerifications, { ...smallest, ...spec }), ...expected);
      });
    }

    const needsRerun = /filter.*can be changed only together with rerun/;
    const changes: readonly (readonly [string, object, object, RegExp])[] = [
      [
        'clusterSyncRef, even with rerun',
        {},
        { clusterSyncRef: { name: 'another' }, rerun: '1' },
        /clusterSyncRef.*create another SyncVerification/,
      ],
      ['filter, where there was none', {}, { filter }, needsRerun],
      ['filter, taking it away', { filter }, { filter: null }, needsRerun],
      [
        'filter to another one under the same rerun',
        { filter, rerun: '1' },
        { filter: { includeNamespaces: [{ database: 'b' }] }, rerun: '1' },
        needsRerun,
      ],
      [
        'filter while rerun is taken away',
        { filter, rerun: '1' },
        { filter: null, rerun: null },
        needsRerun,
      ],
    ];
    for (const [what, spec, changed, expected] of changes) {
      it(`refuses to change ${what}`, async () => {
        const object = await create(syncVerifications, { ...smallest, ...spec });
        await refused(change(object, syncVerifications, changed), expected);
      });
    }

    it('lets filter be changed with rerun, and the rest at any time', async () => {
      const object = await create(syncVerifications, smallest);
      await change(object, syncVerifications, { parallelism: 2, ttlSecondsAfterFinished: 60 });
      await change(object, syncVerifications, { verifier: { logLevel: 'debug' } });
      await change(object, syncVerifications, { filter, rerun: '1' });
      await change(object, syncVerifications, { filter: null, rerun: '2' });
      await change(object, syncVerifications, { rerun: null, ttlSecondsAfterFinished: null });
    });

    it('keeps the counts as they were received', async () => {
      const { metadata } = await create(syncVerifications, { clusterSyncRef: { name: 'sync' } });
      const verificationStatus = { totalTasks: 3, failedTasks: 0, more: null };
      const written = await client.applyStatus(
        syncVerifications,
        { metadata: { namespace, name: metadata.name }, status: { verificationStatus } },
        { signal },
      );
      assert.deepEqual(written.status?.verificationStatus, verificationStatus);
    });
  });
});
