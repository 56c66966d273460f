import assert from 'node:assert/strict';
import { MongoClient } from 'mongodb';
import { codeOf, serverCode } from '../../../mongo/server-errors.ts';
import { userWritesBlocked } from '../../ground/mongod/users.ts';
import { until } from '../../ground/until.ts';
import { indexOf, namespacesOf, optionsOf, useClusterPair } from './cluster-pair.ts';
import { canBeSlow, slowCommands } from './slow-commands.ts';

describe('a commit while users may write already', () => {
  const pair = useClusterPair({ parameters: canBeSlow });
  beforeEach(async () => {
    await pair.reset();
  });

  it('is taken up again, and leaves alone what users have dropped and created in the meantime', async () => {
    const { source, destination } = pair;
    const shop = source.client.db('shop');
    for (const name of ['dropped', 'replaced'])
      await shop.command({ create: name, capped: true, size: 8192, max: 5 });
    await shop.command({
      createIndexes: 'unique',
      indexes: ['a', 'b'].map((name) => ({ key: { [name]: 1 }, name, unique: true })),
    });
    await shop.command({
      createIndexes: 'slow',
      indexes: Array.from({ length: 20 }, (_, n) => ({
        key: { [`f${n}`]: 1 },
        name: `f${n}`,
        hidden: true,
      })),
    });
    await using syncer = await pair.syncing({ enableUserWriteBlocking: true });
    const slow = await slowCommands(destination, ['collMod'], 300);
    await syncer.commit();
    await syncer.waitFor(({ canWrite }) => canWrite === true);
    await syncer.kill();

    const users = destination.client.db('shop');
    for (const name of ['dropped', 'replaced', 'unique']) await users.dropCollection(name);
    await users.createCollection('replaced');
    const documents = Array.from({ length: 20 }, (_, n) => ({ _id: n, a: 1 }));
    await users.collection<{ _id: number }>('replaced').insertMany(documents);
    await slow[Symbol.asyncDispose]();

    await syncer.restart();
    await syncer.waitFor(({ state }) => state === 'COMMITTED');
    assert.deepEqual(await namespacesOf(destination), ['shop.replaced', 'shop.slow']);
    assert.deepEqual(await optionsOf(destination, 'shop', 'replaced'), {});
    assert.deepEqual(
      await users.collection<{ _id: number }>('replaced').find().sort({ _id: 1 }).toArray(),
      documents,
    );
    const indexes = await users.collection('slow').indexes();
    assert.equal(indexes.filter(({ hidden }) => hidden).length, 20);
  });

  const plain = { key: { sku: 1 }, name: 'plain' };
  const unique = { key: { sku: 1 }, name: 'unique', unique: true };
  const ways = {
    'is on the destination already': [unique],
    // Until then it would be the same as the other one.
    'the commit builds': [plain, unique],
  };
  for (const [what, indexes] of Object.entries(ways))
    it(`keeps duplicates out of a unique index that ${what}, from the first write of a user on`, async () => {
      const { source, destination } = pair;
      const shop = source.client.db('shop');
      await shop.command({ createIndexes: 'items', indexes });
      await shop.collection<{ _id: number; sku: number }>('items').insertOne({ _id: 1, sku: 1 });
      await using syncer = await pair.syncing({ enableUserWriteBlocking: true });
      await using user = new MongoClient(destination.set.uri('app'));
      const copies = user.db('shop').collection<{ _id: number; sku: number }>('items');
      // What the commit does after users may write leaves them time.
      await using slow = await slowCommands(destination, ['collMod', 'createIndexes'], 500);
      await syncer.commit();
      let refusal: unknown;
      await until('users are not blocked', async () => {
        refusal = await copies.insertOne({ _id: 2, sku: 1 }).then(() => 'written', codeOf);
        return refusal !== userWritesBlocked;
      });
      assert.equal(refusal, serverCode.duplicateKey);
      await slow[Symbol.asyncDispose]();
      await syncer.waitFor(({ state }) => state === 'COMMITTED');
      await pair.assertEqual();
    });

  it('brings no collection back whose index it is about to build when a user drops it', async () => {
    const { source, destination } = pair;
    const indexes = [{ key: { n: 1 }, name: 'n' }];
    await source.client.db('shop').command({ createIndexes: 'items', indexes });
    await using syncer = await pair.syncing({ enableUserWriteBlocking: true });
    // The commit builds it again.
    await destination.client.db('shop').collection('items').dropIndex('n');
    await using user = new MongoClient(destination.set.uri('app'));
    await using slow = await slowCommands(destination, ['createIndexes'], 3_000, 'shop.items');
    await syncer.commit();
    await slow.reached(1);
    await user.db('shop').dropCollection('items');
    await syncer.waitFor(({ state }) => state === 'COMMITTED');
    assert.deepEqual(await namespacesOf(destination), []);
  });

  it('leaves alone a collection that a user puts in the place of one that is about to be changed', async () => {
    const { source, destination } = pair;
    const index = { key: { n: 1 }, name: 'n' };
    const indexes = [{ ...index, hidden: true }];
    await source.client.db('shop').command({ createIndexes: 'items', indexes });
    await using syncer = await pair.syncing({ enableUserWriteBlocking: true });
    await using user = new MongoClient(destination.set.uri('app'));
    const users = user.db('shop');
    await using slow = await slowCommands(destination, ['collMod'], 2_000, 'shop.items');
    await syncer.commit();
    await slow.reached(1);
    await users.dropCollection('items');
    await users.command({ createIndexes: 'items', indexes: [index] });
    await syncer.waitFor(({ state }) => state === 'COMMITTED');
    const there = await indexOf(destination, 'shop', 'items', 'n');
    assert.ok(there);
    assert.equal(there['hidden'], undefined);
  });
});
