import assert from 'node:assert/strict';
import type { Document } from 'mongodb';
import { commitAndWait, forward } from './cluster-pair.ts';
import { refusedKeys } from './refused-shard-keys.ts';
import { failureOf, shardingEntry, useShardedPair } from './sharded-pair.ts';
import { byK, items, shopItems } from './shop-items.ts';

describe('contract 4.1: indexes that support the shard keys of collections that are sharded', () => {
  const pair = useShardedPair(3);

  beforeEach(async () => {
    await pair.reset();
  });

  const { source, copy } = shopItems(pair);

  const supporting = { ...byK.sharding, createSupportingIndexes: true };
  const indexCases: readonly (readonly [what: string, body: object, names: readonly string[]])[] = [
    ['createSupportingIndexes: true makes a missing index', { sharding: supporting }, ['k_1']],
    [
      'createSupportingIndexes: true with indexes after the copy',
      { sharding: supporting, buildIndexes: 'afterDataCopy' },
      ['k_1'],
    ],
    [
      'buildIndexes: never keeps what supports the shard key',
      { sharding: supporting, buildIndexes: 'never' },
      ['clustersync_shard_key'],
    ],
  ];
  for (const [what, body, names] of indexCases) {
    it(`rule 6: ${what}`, async () => {
      await source().insertMany(items(60));
      await source().createIndexes([{ key: { k: -1 } }]);
      await using syncer = await pair.syncing(body);
      await source().insertMany(items(60, 100));
      await commitAndWait(syncer);
      const never = 'buildIndexes' in body && body.buildIndexes === 'never';
      const expected = ['_id_', ...(never ? [] : ['k_-1']), ...names];
      assert.deepEqual((await copy().indexes()).map(({ name }) => name).sort(), expected.sort());
      assert.deepEqual(
        await copy().find().sort({ _id: 1 }).toArray(),
        await source().find().sort({ _id: 1 }).toArray(),
      );
    });
  }

  const keys: readonly (readonly [what: string, parts: readonly object[]])[] = [
    ['a hashed key', [{ k: 'hashed' }]],
    ['a compound key', [{ region: 1 }, { k: 1 }]],
    ['a compound key with a hashed field', [{ region: 1 }, { k: 'hashed' }]],
    ['a key within a document', [{ 'a.b': 1 }]],
  ];
  for (const [what, parts] of keys) {
    const key = Object.assign({}, ...parts) as Document;
    const asked = { shardingEntries: [shardingEntry('shop.items', ...parts)] };
    const name = Object.entries(key).flat().join('_');

    it(`rule 6: the index of ${what} is made where it is missing`, async () => {
      await source().insertMany(items(60));
      await using syncer = await pair.syncing({
        sharding: { ...asked, createSupportingIndexes: true },
      });
      await source().insertMany(items(60, 100));
      await commitAndWait(syncer);
      assert.deepEqual(await pair.shardKey('shop.items'), key);
      assert.deepEqual(
        (await copy().indexes()).map((index) => [index.name, index.key] as const),
        [
          ['_id_', { _id: 1 }],
          [name, key],
        ],
      );
      assert.equal(await copy().countDocuments(), 120);
    });

    for (const createSupportingIndexes of [true, false]) {
      const rule = createSupportingIndexes ? 6 : 5;
      it(`rule ${rule}: the index of ${what} that the source has is used`, async () => {
        await source().createIndexes([{ key, name: 'mine' }]);
        await source().insertMany(items(60));
        await using syncer = await pair.syncing({
          sharding: { ...asked, createSupportingIndexes },
        });
        await source().insertMany(items(60, 100));
        await commitAndWait(syncer);
        assert.deepEqual(await pair.shardKey('shop.items'), key);
        await pair.assertEqual();
      });
    }
  }

  it('rule 6: indexes of the source are used as they are, unique ones and those built after the copy too', async () => {
    await source().createIndexes([{ key: { k: 1 }, unique: true, name: 'mine' }]);
    await source().insertMany(items(60));
    await using syncer = await pair.syncing({
      sharding: supporting,
      buildIndexes: 'afterDataCopy',
    });
    await source().insertMany(items(60, 100));
    await commitAndWait(syncer);
    await pair.assertEqual();
  });

  it('a hidden index does not support a shard key', async () => {
    await source().createIndexes([{ key: { k: 1 } }]);
    await source().insertMany(items(60));
    await using syncer = await pair.syncing(byK);
    await pair.source.client
      .db('shop')
      .command({ collMod: 'items', index: { name: 'k_1', hidden: true } });
    await commitAndWait(syncer);
    const indexes = await copy().indexes();
    assert.deepEqual(
      indexes.map(({ name }) => name),
      ['_id_', 'k_1', 'clustersync_shard_key'],
    );
    assert.equal(indexes[1]?.hidden, true);
    assert.match(
      (await syncer.progress()).warnings?.join() ?? '',
      /clustersync_shard_key of shop.items stays/,
    );
  });

  it('rule 5: refuses what cannot be sharded so, and writes nothing', async () => {
    await using syncer = await pair.syncer();
    for (const [what, prepare, error, said] of refusedKeys(pair)) {
      await pair.reset();
      await prepare();
      try {
        const { body } = await syncer.post('start', { ...forward, ...byK });
        assert.equal(body['error'], error, `${what}: ${JSON.stringify(body)}`);
        assert.match(String(body['errorDescription']), said);
        assert.equal((await syncer.progress()).state, 'IDLE');
        const { databases } = await pair.destination.client.db().admin().listDatabases();
        assert.deepEqual(
          databases.map(({ name }) => name),
          ['admin', 'config'],
        );
      } finally {
        await pair.destination.admin({ balancerStop: 1 });
      }
    }
  });

  it('rule 5: a unique index that comes during the sync and does not begin with the key stops it', async () => {
    await source().createIndexes([{ key: { k: 1 } }]);
    await using syncer = await pair.syncing(byK);
    await source().createIndexes([{ key: { email: 1 }, unique: true, name: 'by email' }]);
    assert.match(await failureOf(syncer), /^IncompatibleUniqueIndex: .*by email of shop\.items/);
  });

  it('an array in a field of the shard key stops the sync, and is named', async () => {
    await source().createIndexes([{ key: { k: 1 } }]);
    await using syncer = await pair.syncing(byK);
    await source().insertOne({ _id: 'array', k: [1, 2] });
    assert.match(await failureOf(syncer), /^InvalidShardKeyValue: .*shop\.items.*array/);
  });
});
