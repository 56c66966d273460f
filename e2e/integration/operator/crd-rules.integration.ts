import assert from 'node:assert/strict';
import { clusterSyncs, type ClusterSync } from '../../../operator/api/clustersync.ts';
import type { StartOption } from '../../../sync-api/start-options.ts';
import { defaultOptions, otherOptions } from '../../../sync-api/testing/start-examples.ts';
import { smallestSpec } from './custom-resources.ts';
import { namespace, refused, RulesServer, signal } from './rules-server.ts';
import { verificationRules } from './verification-rules.ts';

/** How a change of an option of a start is refused. */
function changeRefusal(name: StartOption): RegExp {
  if (name === 'initialData') return /initialData can be changed only together with startOver/;
  // The message about sharding names the field beside it.
  return new RegExp(
    name === 'sharding' ? 'sharding.*cannot be changed' : `${name} cannot be changed`,
  );
}

describe('the rules of the custom resources, on a real API server', () => {
  const server = RulesServer.use();

  describe('ClusterSync', () => {
    it('gets its defaults from the schema', async () => {
      const { spec } = await server.create(clusterSyncs, smallestSpec);
      assert.deepEqual(spec, {
        source: { name: 'old', uriSecretRef: { name: 'old-uri', key: 'uri' } },
        destination: { name: 'new', uriSecretRef: { name: 'new-uri', key: 'uri' } },
        ...defaultOptions,
        state: 'Running',
        direction: 'Forward',
        commit: {
          mode: 'Manual',
          maxLagSeconds: 10,
          workloadsAfterCommit: 'StayAtZero',
          deadlineSeconds: 300,
        },
        onDelete: 'Keep',
        dryRun: false,
        suspend: false,
        syncer: { logLevel: 'info', resources: { requests: { cpu: '100m', memory: '256Mi' } } },
      });
    });

    it('takes every option', async () => {
      const spec = {
        ...smallestSpec,
        ...(Object.assign({}, ...otherOptions.map(([, , other]) => other)) as object),
        buildIndexes: 'afterDataCopy',
        enableUserWriteBlocking: true,
        // What is sharded cannot be reversed.
        reversible: false,
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
        commit: {
          mode: 'Automatic',
          maxLagSeconds: 0,
          verificationRef: { name: 'check' },
          workloads: [
            { kind: 'Deployment', name: 'web' },
            { kind: 'StatefulSet', name: 'web' },
          ],
          workloadsAfterCommit: 'ScaleBack',
          deadlineSeconds: 60,
          attempt: '2026-01-01',
          notBefore: '2026-12-05T22:00:00Z',
          notAfter: '2026-12-06T04:00:00+02:00',
        },
        startOver: { token: '2026-01-01', destination: 'Clean' },
        repair: { token: '2026-01-01', comparison: 'Bytes' },
        onDelete: 'Unblock',
        dryRun: true,
        checkAgain: '2026-01-01',
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
          tls: { secretName: 'orders-tls' },
          instances: 3,
          logLevel: 'debug',
        },
      };
      const created = await server.create(clusterSyncs, spec);
      assert.deepEqual(created.spec, {
        ...spec,
        source: { name: 'old', uriSecretRef: { name: 'old-uri', key: 'uri' } },
        destination: { name: 'new', uriSecretRef: { name: 'new-uri', key: 'uri' } },
      });
    });

    it('takes the authorities of servers from a ConfigMap, and their name', async () => {
      for (const serverName of ['db', 'db-0.Shop.example', '10.0.0.db', '0f3a']) {
        const tls = { caConfigMapRef: { name: 'trusted' }, serverName };
        const source = { ...smallestSpec.source, tls };
        const { spec } = await server.create(clusterSyncs, { ...smallestSpec, source });
        const expected = { caConfigMapRef: { name: 'trusted', key: 'ca.crt' }, serverName };
        assert.deepEqual(spec.source.tls, expected);
      }
    });

    const withTls = (tls: object) => ({ destination: { ...smallestSpec.destination, tls } });
    const refusals: readonly (readonly [string, object, ...RegExp[]])[] = [
      [
        'authorities in a Secret and in a ConfigMap',
        withTls({ caSecretRef: { name: 'ca' }, caConfigMapRef: { name: 'ca' } }),
        /destination\.tls.*set caSecretRef or caConfigMapRef, not both/,
      ],
      ...['', '127.0.0.1', '::1', 'a:1', '*.a', 'a..b', 'a-', 'a b'].map(
        (serverName) =>
          [
            `${JSON.stringify(serverName)} as the name of a server`,
            withTls({ serverName }),
            /destination\.tls\.serverName/,
          ] as const,
      ),
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
        'workloads without an automatic commit',
        { commit: { workloads: [{ kind: 'Deployment', name: 'web' }] } },
        /workloads and verificationRef require the mode Automatic/,
      ],
      [
        'a verification to wait for without an automatic commit',
        { commit: { mode: 'Manual', verificationRef: { name: 'check' } } },
        /workloads and verificationRef require the mode Automatic/,
      ],
      [
        'a workload twice',
        {
          commit: {
            mode: 'Automatic',
            workloads: [
              { kind: 'Deployment', name: 'web' },
              { kind: 'Deployment', name: 'web' },
            ],
          },
        },
        /Duplicate value/,
      ],
      [
        'a workload of another kind',
        { commit: { mode: 'Automatic', workloads: [{ kind: 'CronJob', name: 'web' }] } },
        /Unsupported value: "CronJob"/,
      ],
      [
        'a deadline that leaves no time',
        { commit: { mode: 'Automatic', deadlineSeconds: 9 } },
        /greater than or equal to 10/,
      ],
      [
        'a window without an automatic commit',
        { commit: { notBefore: '2026-12-05T22:00:00Z' } },
        /notBefore and notAfter require the mode Automatic/,
      ],
      [
        'the end of a window without an automatic commit',
        { commit: { notAfter: '2026-12-05T22:00:00Z' } },
        /notBefore and notAfter require the mode Automatic/,
      ],
      [
        'a window on a day that does not exist',
        { commit: { mode: 'Automatic', notBefore: '2026-02-30T22:00:00Z' } },
        /notBefore.*date-time/,
      ],
      [
        'a window that ends when it begins',
        {
          commit: {
            mode: 'Automatic',
            notBefore: '2026-12-05T22:00:00Z',
            notAfter: '2026-12-06T00:00:00+02:00',
          },
        },
        /notBefore must be earlier than notAfter/,
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
      ['a shard key without fields', sharded([]), /key/],
      ['a shard key with two fields in one entry', sharded([{ a: 1, b: 1 }]), /key\[0\]/],
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
      ['HTTPS without a Secret', { syncer: { tls: {} } }, /tls\.secretName.*[Rr]equired/],
    ];
    for (const [what, spec, ...expected] of refusals) {
      it(`refuses ${what}`, async () => {
        await refused(server.create(clusterSyncs, { ...smallestSpec, ...spec }), ...expected);
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
      ...otherOptions.map(([name, one, other]) => [name, one, other, changeRefusal(name)] as const),
      [
        'initialData, under the same token',
        { startOver: { token: '1' } },
        { initialData: 'Present' },
        changeRefusal('initialData'),
      ],
      [
        'includeNamespaces, taking them away',
        { includeNamespaces: [{ database: 'a' }] },
        { includeNamespaces: null },
        /includeNamespaces cannot be changed/,
      ],
      [
        'excludeNamespaces, to others',
        { excludeNamespaces: [{ database: 'a' }] },
        { excludeNamespaces: [{ database: 'b' }] },
        /excludeNamespaces cannot be changed/,
      ],
      [
        'state back from Committed',
        { state: 'Committed' },
        { state: 'Running' },
        /a commit cannot be undone/,
      ],
      [
        'state from Committed to Paused',
        { state: 'Committed' },
        { state: 'Paused' },
        /a commit cannot be undone/,
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
      [
        'a sync that is to be committed to a dry run',
        { state: 'Committed' },
        { dryRun: true },
        /cannot become a dry run/,
      ],
    ];
    for (const [what, spec, changed, expected] of changes) {
      it(`refuses to change ${what}`, async () => {
        const object = await server.create(clusterSyncs, { ...smallestSpec, ...spec });
        await refused(server.change(object, clusterSyncs, changed), expected);
      });
    }

    it('lets state, suspend and the pod options be changed', async () => {
      const object = await server.create(clusterSyncs, {
        ...smallestSpec,
        includeNamespaces: [{ database: 'a' }],
      });
      await server.change(object, clusterSyncs, { state: 'Paused', suspend: true });
      await server.change(object, clusterSyncs, {
        state: 'Committed',
        syncer: { image: 'example.dev/syncer:2' },
      });
    });

    it('lets a dry run be turned on before the commit, off at any time, and the commit be asked for', async () => {
      const object = await server.create(clusterSyncs, { ...smallestSpec, dryRun: true });
      await server.change(object, clusterSyncs, { dryRun: null });
      await server.change(object, clusterSyncs, { dryRun: true, checkAgain: '2' });
      await server.change(object, clusterSyncs, { state: 'Committed' });
      await server.change(object, clusterSyncs, { dryRun: false });
    });

    it('lets the commit be left to the operator at any time, and taken back from it', async () => {
      const object = await server.create(clusterSyncs, smallestSpec);
      const workloads = [{ kind: 'Deployment', name: 'web' }];
      await server.change(object, clusterSyncs, { commit: { mode: 'Automatic', workloads } });
      await server.change(object, clusterSyncs, { commit: { attempt: '2' } });
      await refused(
        server.change(object, clusterSyncs, { commit: { mode: 'Manual' } }),
        /require the mode Automatic/,
      );
      await server.change(object, clusterSyncs, { commit: null });
    });

    it('lets a committed sync be reversed, and reversed again', async () => {
      const object = await server.create(clusterSyncs, {
        ...smallestSpec,
        enableUserWriteBlocking: true,
        reversible: true,
        state: 'Committed',
      });
      await server.change(object, clusterSyncs, { direction: 'Reverse', state: 'Running' });
      // As NotCommitted advises if the commit has not been carried out.
      await server.change(object, clusterSyncs, { direction: 'Forward', state: 'Committed' });
      await server.change(object, clusterSyncs, { direction: 'Reverse', state: 'Running' });
      await server.change(object, clusterSyncs, { state: 'Committed' });
      await refused(server.change(object, clusterSyncs, { state: 'Running' }), /cannot be undone/);
      await server.change(object, clusterSyncs, { direction: 'Forward', state: 'Paused' });
    });

    it('keeps the progress as it was received, null by null', async () => {
      const { metadata } = await server.create(clusterSyncs, smallestSpec);
      const apply = async (progress: Record<string, unknown>): Promise<ClusterSync> =>
        await server.client.applyStatus(
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
    verificationRules(server);
  });
});

/** A spec in which one collection is sharded by this key. */
function sharded(key: readonly object[]): object {
  return {
    sharding: { shardingEntries: [{ database: 'a', collection: 'b', shardCollection: { key } }] },
  };
}
