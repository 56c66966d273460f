import assert from 'node:assert/strict';
import { clusterSyncs } from '../../../operator/api/clustersync.ts';
import { syncVerifications } from '../../../operator/api/sync-verification.ts';
import type { KubeClient } from '../../../operator/kube/client.ts';
import { isInvalid } from '../../../operator/kube/kube-error.ts';
import type { KubeObject, Resource } from '../../../operator/kube/resource.ts';
import { forEachConcurrently } from '../../../service/concurrency.ts';
import { until } from '../../ground/until.ts';
import { useApiServer } from '../kube/use-api-server.ts';
import { smallestSpec } from './custom-resources.ts';
import { definitionOf, definitions, putDefinition, withoutNewRules } from './former-definitions.ts';
import { namespace, refused, signal } from './rules-server.ts';

const secret = { name: 'Old_Uri' };
const asSecret = /no Secret can have this name: use lower-case letters/;
const unreadable = /the server cannot compile one of the regular expressions/;

function key(...parts: readonly object[]): object {
  const shardCollection = { key: parts };
  const entry = { database: 'shop', collection: 'orders', shardCollection };
  return { sharding: { shardingEntries: [entry] } };
}

function included(pattern: string): object {
  return { includeNamespaces: [{ databaseRegex: { pattern } }] };
}

function auth(change: object): object {
  const [userSecretRef, passwordSecretRef] = [{ name: 'user' }, { name: 'password' }];
  return {
    source: { ...smallestSpec.source, auth: { userSecretRef, passwordSecretRef, ...change } },
  };
}

function verificationOf(filter: object): object {
  return { clusterSyncRef: { name: 'orders' }, filter };
}

function toleration(each: object): object {
  return { syncer: { tolerations: [each] } };
}

/** What was accepted once, though nothing could come of it. */
const syncs: readonly (readonly [what: string, spec: object, message: RegExp])[] = [
  [
    'one Secret for both sides',
    { destination: { name: 'new', uriSecretRef: { name: 'old-uri', key: 'uri' } } },
    /destination\.uriSecretRef.*the same Secret and key.*give the destination its own/,
  ],
  ['a Secret that cannot be', { source: { name: 'old', uriSecretRef: secret } }, asSecret],
  ['a Secret of a user that cannot be', auth({ userSecretRef: secret }), asSecret],
  [
    'a Secret of a password that cannot be',
    auth({ passwordSecretRef: { name: 'a..b' } }),
    asSecret,
  ],
  ...(['caSecretRef', 'caConfigMapRef', 'clientCertificateSecretRef'] as const).map(
    (field) =>
      [
        `a ${field} that cannot be`,
        { source: { ...smallestSpec.source, tls: { [field]: secret } } },
        /no (Secret|ConfigMap) can have this name: use lower-case letters/,
      ] as const,
  ),
  [
    'a Secret of a registry that cannot be',
    { syncer: { imagePullSecrets: [{ name: 'registry' }, { name: '-registry' }] } },
    /no Secret can have one of these names/,
  ],
  [
    'a SyncVerification that cannot be',
    { commit: { mode: 'Automatic', verificationRef: { name: 'Check 1' } } },
    /no SyncVerification can have this name/,
  ],
  [
    'a workload that cannot be',
    { commit: { mode: 'Automatic', workloads: [{ kind: 'Deployment', name: 'web/1' }] } },
    /no workload can have one of these names/,
  ],
  ...['admin', 'config', 'local'].map(
    (database) =>
      [
        `the database ${database}`,
        { includeNamespaces: [{ database: 'shop' }, { database }] },
        /includeNamespaces.*admin, config and local belong to the server.*remove them/,
      ] as const,
  ),
  ...['(shop', 'shop)', '[a-z', 'a[^]]b[c', '*shop', '+', '?x', 'shop\\', '\\\\\\'].map(
    (pattern) => [`the regular expression ${pattern}`, included(pattern), unreadable] as const,
  ),
  [
    'a regular expression of collections to include',
    { includeNamespaces: [{ database: 'a', collectionsRegex: { pattern: '((' } }] },
    unreadable,
  ],
  [
    'a regular expression of databases to exclude',
    { excludeNamespaces: [{ database: 'a' }, { databaseRegex: { pattern: '[' } }] },
    unreadable,
  ],
  [
    'a regular expression of collections to exclude',
    { excludeNamespaces: [{ database: 'a', collectionsRegex: { pattern: 'x\\' } }] },
    unreadable,
  ],
  [
    'a Secret for HTTPS that cannot be',
    { syncer: { tls: { secretName: 'a..b' } } },
    /syncer\.tls\.secretName.*no Secret can have this name/,
  ],
  [
    'sharding of what can be reversed',
    { ...key({ a: 1 }), reversible: true, enableUserWriteBlocking: true },
    /reversible.*a sync with sharding cannot be reversed: set reversible to false, or remove sharding/,
  ],
  ['a shard key that descends', key({ a: 1 }, { b: -1 }), /a shard key is 1 or hashed/],
  ['a shard key of another kind', key({ a: 'text' }), /a shard key is 1 or hashed/],
  ['a shard key hashed twice', key({ a: 'hashed' }, { b: 'hashed' }), /only one field.*be hashed/],
  ['a shard key with a field twice', key({ a: 1 }, { b: 1 }, { a: 1 }), /a shard key twice/],
  [
    'a toleration of all values with a value',
    toleration({ key: 'a', operator: 'Exists', value: 'b' }),
    /Exists has no value: remove it/,
  ],
  [
    'a toleration without a key',
    toleration({ value: 'b' }),
    /without a key.*set operator to Exists/,
  ],
  [
    'a toleration for a time without NoExecute',
    toleration({ key: 'a', effect: 'NoSchedule', tolerationSeconds: 5 }),
    /set effect to NoExecute/,
  ],
  [
    'a label of a node that cannot be',
    { syncer: { nodeSelector: { disk: 'very fast' } } },
    /no label of a node can have one of these values/,
  ],
];

const verifications: readonly (readonly [what: string, spec: object, message: RegExp])[] = [
  [
    'a ClusterSync that cannot be',
    { clusterSyncRef: { name: 'Orders' } },
    /no ClusterSync can have this name/,
  ],
  [
    'a Secret for HTTPS that cannot be',
    { clusterSyncRef: { name: 'orders' }, verifier: { tls: { secretName: 'Orders/tls' } } },
    asSecret,
  ],
  [
    'a toleration without a key',
    { clusterSyncRef: { name: 'orders' }, verifier: { tolerations: [{ operator: 'Equal' }] } },
    /without a key/,
  ],
  ...['admin', 'config', 'local'].map(
    (database) =>
      [
        `the database ${database}`,
        verificationOf({ includeNamespaces: [{ database: 'shop' }, { database }] }),
        /filter\.includeNamespaces.*admin, config and local belong to the server.*never compared/,
      ] as const,
  ),
  ['a regular expression of databases', verificationOf(included('(')), unreadable],
  [
    'a regular expression of collections to exclude',
    verificationOf({
      excludeNamespaces: [{ database: 'a', collectionsRegex: { pattern: 'x\\' } }],
    }),
    unreadable,
  ],
];

/** Patterns that only look like those that are refused; all of them are for the server to judge. */
const patterns = [
  ...[
    '^(?!tmp)',
    '(?<=a)b',
    'a{2}',
    '[(]',
    '\\(',
    '[]a]',
    '[^]a]',
    '[[:alpha:]]',
    'a\\\\',
    '\\\\(',
  ],
  ...['\\Q(\\E', '\\Qa\\', '\\[', 'x|(y)', '(?#[)a', '\\x{61}', '(a)(?1)', '.*', '^*', '\\*'],
  ...['shop # note \\', '\\c\\'],
];

const kinds: readonly Resource<KubeObject>[] = [clusterSyncs, syncVerifications];
const cases: readonly (readonly [Resource<KubeObject>, string, object, RegExp])[] = [
  ...syncs.map((each) => [clusterSyncs, ...each] as const),
  ...verifications.map((each) => [syncVerifications, ...each] as const),
];

describe('the rules for new values, on a real API server', () => {
  let client: KubeClient;
  const former: KubeObject[] = [];

  useApiServer(async (_server, itsClient) => {
    client = itsClient;
    for (const kind of kinds) {
      const body = withoutNewRules(await definitionOf(kind));
      await client.raw({ method: 'POST', path: definitions, body, signal });
    }
    await until('they are served', async () => {
      const reads = kinds.map((kind) => client.list(kind, { namespace, signal }));
      return (await Promise.allSettled(reads)).every(({ status }) => status === 'fulfilled');
    });
    await forEachConcurrently(cases.entries(), 8, async ([index, [kind, , spec]]) => {
      former[index] = await create(kind, spec, `former-${index}`);
    });
    for (const kind of kinds) await putDefinition(client, await definitionOf(kind), signal);
    let count = 0;
    await until('the rules hold', async () => {
      let areHeld = true;
      await forEachConcurrently(cases, 8, async ([kind, , spec]) => {
        const attempt = create(kind, spec, `probe-${count++}`);
        if (!(await attempt.then(() => false, isInvalid))) areHeld = false;
      });
      return areHeld;
    });
  });

  async function create(
    kind: Resource<KubeObject>,
    spec: object,
    name: string,
  ): Promise<KubeObject> {
    const base = kind.kind === clusterSyncs.kind ? smallestSpec : {};
    const object = { metadata: { namespace, name }, spec: { ...base, ...spec } };
    return await client.create<KubeObject>(kind, object, { signal });
  }

  for (const [index, [kind, what, spec, message]] of cases.entries()) {
    it(`refuse ${what}, and leave the ${kind.kind} that has it`, async () => {
      await refused(create(kind, spec, `new-${index}`), message);
      const object = former[index];
      assert.ok(object);
      const changed =
        kind.kind === clusterSyncs.kind ? { state: 'Paused', suspend: true } : { parallelism: 2 };
      const patched = await client.patch(kind, object.metadata, { spec: changed }, { signal });
      assert.notEqual(patched.metadata.resourceVersion, object.metadata.resourceVersion);
    });
  }

  it('take what only looks like it', async () => {
    for (const [index, pattern] of patterns.entries())
      await create(clusterSyncs, included(pattern), `pattern-${index}`);
    const near = {
      excludeNamespaces: [{ database: 'admin' }],
      destination: { name: 'new', uriSecretRef: { name: 'old-uri', key: 'new' } },
      syncer: {
        tolerations: [{ operator: 'Exists' }, { key: 'a', operator: 'Exists' }, { key: 'b' }],
        imagePullSecrets: [{ name: 'a.b-c' }],
        nodeSelector: { disk: '', zone: 'a_b.c-d' },
      },
      ...key({ a: 1 }, { b: 'hashed' }),
    };
    await create(clusterSyncs, near, 'near');
    // One string leads to two deployments where a proxy goes by the name that it is told.
    const uriSecretRef = { name: 'proxy' };
    const told = {
      source: { name: 'old', uriSecretRef, tls: { serverName: 'old.example' } },
      destination: { name: 'new', uriSecretRef, tls: { serverName: 'new.example' } },
    };
    await create(clusterSyncs, told, 'told');
  });

  it('hold for a value that changes', async () => {
    const { metadata } = await create(clusterSyncs, auth({}), 'changed');
    const change = auth({ userSecretRef: secret });
    await refused(client.patch(clusterSyncs, metadata, { spec: change }, { signal }), asSecret);
  });

  it('hold for a filter that changes', async () => {
    const { metadata } = await create(
      syncVerifications,
      verificationOf(included('^a')),
      'filtered',
    );
    const spec = { filter: included('('), rerun: '1' };
    await refused(client.patch(syncVerifications, metadata, { spec }, { signal }), unreadable);
    const excluding = { filter: { excludeNamespaces: [{ database: 'admin' }] }, rerun: '1' };
    await client.patch(syncVerifications, metadata, { spec: excluding }, { signal });
  });
});
