import assert from 'node:assert/strict';
import { namespacesOf, optionsOf, useClusterPair } from './cluster-pair.ts';
import { canBeSlow, slowCommands } from './slow-commands.ts';

describe('a commit that is taken up again when users may write already', () => {
  const pair = useClusterPair({ parameters: canBeSlow });

  it('leaves alone what users have dropped and created in the meantime', async () => {
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
});
