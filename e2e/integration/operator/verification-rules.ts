import assert from 'node:assert/strict';
import { syncVerifications } from '../../../operator/api/sync-verification.ts';
import { namespace, refused, signal, type RulesServer } from './rules-server.ts';

/** The rules of SyncVerification, as tests. */
export function verificationRules(server: RulesServer): void {
  it('gets its defaults from the schema', async () => {
    const { spec } = await server.create(syncVerifications, { clusterSyncRef: { name: 'sync' } });
    assert.deepEqual(spec, {
      clusterSyncRef: { name: 'sync' },
      comparison: 'Bytes',
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
      comparison: 'Hashes',
      parallelism: 32,
      maxBytesPerSecond: 50_000_000,
      readPreference: 'secondaryPreferred',
      rerun: '2026-01-01',
      ttlSecondsAfterFinished: 0,
      verifier: { image: 'example.dev/verifier:1', resources: {}, logLevel: 'debug' },
    };
    assert.deepEqual((await server.create(syncVerifications, spec)).spec, spec);
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
    ['another comparison', { comparison: 'Sizes' }, /comparison.*Bytes/],
    ['no pods', { parallelism: 0 }, /parallelism/],
    ['too many pods', { parallelism: 33 }, /parallelism/],
    ['hardly any bytes per second', { maxBytesPerSecond: 1000 }, /maxBytesPerSecond.*1048576/],
    [
      'hardly any bytes per second for each pod',
      { maxBytesPerSecond: 3_145_727, parallelism: 3 },
      /maxBytesPerSecond.*at least 1 MiB \(1048576\) for each pod/,
    ],
    ['unknown members', { readPreference: 'Secondary' }, /readPreference.*"secondary"/],
  ];
  for (const [what, spec, ...expected] of refusals) {
    it(`refuses ${what}`, async () => {
      await refused(server.create(syncVerifications, { ...smallest, ...spec }), ...expected);
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
      'comparison under the same rerun',
      { rerun: '1' },
      { comparison: 'Hashes' },
      /comparison can be changed only together with rerun/,
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
      const object = await server.create(syncVerifications, { ...smallest, ...spec });
      await refused(server.change(object, syncVerifications, changed), expected);
    });
  }

  it('lets filter be changed with rerun, and the rest at any time', async () => {
    const object = await server.create(syncVerifications, smallest);
    await server.change(object, syncVerifications, { parallelism: 2, ttlSecondsAfterFinished: 60 });
    const reading = { maxBytesPerSecond: 2_097_152, readPreference: 'nearest' };
    await server.change(object, syncVerifications, reading);
    await server.change(object, syncVerifications, { verifier: { logLevel: 'debug' } });
    await server.change(object, syncVerifications, { filter, rerun: '1' });
    await server.change(object, syncVerifications, { filter: null, rerun: '2' });
    await server.change(object, syncVerifications, { comparison: 'Hashes', rerun: '3' });
    await server.change(object, syncVerifications, { rerun: null, ttlSecondsAfterFinished: null });
  });

  it('keeps the counts as they were received', async () => {
    const { metadata } = await server.create(syncVerifications, {
      clusterSyncRef: { name: 'sync' },
    });
    const verificationStatus = { totalTasks: 3, failedTasks: 0, more: null };
    const written = await server.client.applyStatus(
      syncVerifications,
      { metadata: { namespace, name: metadata.name }, status: { verificationStatus } },
      { signal },
    );
    assert.deepEqual(written.status?.verificationStatus, verificationStatus);
  });
}
