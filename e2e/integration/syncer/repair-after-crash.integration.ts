import assert from 'node:assert/strict';
import type { Db } from 'mongodb';
import type { SyncerProcess } from '../../ground/syncer-process.ts';
import { until } from '../../ground/until.ts';
import { shareOfDay } from '../../ground/workload/chosen-seeds.ts';
import { commitAndWait, useClusterPair } from './cluster-pair.ts';
import { canBeSlow, delayNext, failCommands } from './slow-commands.ts';

const name = 'later';

type Change = (db: Db) => Promise<unknown>;

/** What the source does to a collection that the sync has created, before its UUID on the destination is stored. */
const changes: Readonly<Record<string, Change>> = {
  nothing: async (db) => await db.collection(name).countDocuments(),
  'alters it': async (db) => await db.command({ collMod: name, validator: { n: { $gte: 0 } } }),
  'drops it': async (db) => await db.collection(name).drop(),
  'replaces it': async (db) => {
    await db.collection(name).drop();
    await db.createCollection(name, { capped: true, size: 8_192 });
  },
  'drops its indexes': async (db) => await db.collection(name).dropIndexes(),
  'gives its name to another': async (db) => {
    await db.collection(name).rename('renamed');
    await db.createCollection(name, { collation: { locale: 'de' } });
  },
  'writes to it': async (db) => await db.collection<{ n: number }>(name).insertOne({ n: 1 }),
  'builds an index': async (db) => await db.collection(name).createIndexes([{ key: { m: 1 } }]),
};

describe('a repair after a crash between a creation and its record, where the source', () => {
  const pair = useClusterPair({ parameters: canBeSlow });
  const shop = (): Db => pair.source.client.db('shop');
  const copy = (): Db => pair.destination.client.db('shop');

  beforeEach(async () => {
    await pair.reset();
    await shop()
      .collection('items')
      .insertMany(Array.from({ length: 50 }, (_, n) => ({ n })));
  });

  async function untilCreated(lastCommand: string): Promise<void> {
    await until('the server carries it out', async () => {
      if ((await copy().listCollections({ name }).toArray()).length === 0) return false;
      return lastCommand === 'create' || (await copy().collection(name).indexExists('n_1'));
    });
  }

  async function repair(syncer: SyncerProcess): Promise<void> {
    assert.deepEqual(await syncer.post('repair', {}), { status: 200, body: { success: true } });
  }

  async function commitsEqual(syncer: SyncerProcess): Promise<void> {
    const { repairs } = await syncer.waitFor(({ canCommit }) => canCommit);
    assert.equal(repairs, 1);
    await commitAndWait(syncer);
    await pair.assertEqual();
  }

  const creations = {
    'a change event': async (change: Change) => {
      await using syncer = await pair.syncing();
      const reached = await delayNext(pair.destination, 'create', 500);
      await shop().createCollection(name);
      await reached();
      await syncer.kill();
      await untilCreated('create');
      await change(shop());
      {
        // The next process cannot read the event again before the repair begins.
        await using held = await failCommands(pair.source, ['aggregate'], 'admin.$cmd.aggregate');
        await syncer.restart();
        await held.reached(1);
        await repair(syncer);
      }
      await commitsEqual(syncer);
    },
    'a repair, which got as far as create': async (change: Change) => {
      await crashInRepair('create', change);
    },
    'a repair, which got as far as createIndexes': async (change: Change) => {
      await crashInRepair('createIndexes', change);
    },
  };

  async function crashInRepair(lastCommand: string, change: Change): Promise<void> {
    await shop()
      .collection(name)
      .createIndexes([{ key: { n: 1 } }]);
    await using syncer = await pair.syncing({ buildIndexes: 'beforeDataCopy' });
    await copy().collection(name).drop();
    const reached = await delayNext(pair.destination, lastCommand, 500);
    await repair(syncer);
    await reached();
    await syncer.kill();
    await untilCreated(lastCommand);
    await change(shop());
    await syncer.restart();
    await commitsEqual(syncer);
  }

  const crashes = Object.entries(creations);
  for (const [index, [what, change]] of Object.entries(changes).entries()) {
    // All changes each day, and each with a different creation than the day before.
    const first = index % crashes.length;
    const inTurn = [...crashes.slice(first), ...crashes.slice(0, first)];
    for (const [creation, crash] of shareOfDay(inTurn, 1))
      it(`${what}, the creation being of ${creation}`, async () => {
        await crash(change);
      });
  }
});
