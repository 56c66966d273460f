import assert from 'node:assert/strict';
import {
  BSONSymbol,
  Decimal128,
  Double,
  Int32,
  Long,
  type Collection,
  type Db,
  type Document,
} from 'mongodb';
import type { SyncerProcess } from '../../ground/syncer-process.ts';
import { chosenSeeds, firstSeeds, shareOfDay } from '../../ground/workload/chosen-seeds.ts';
import { SeededRandom } from '../../ground/workload/seeded-random.ts';
import { commitAndWait, useClusterPair } from './cluster-pair.ts';
import { byId, type Row } from './every-id.ts';
import { raw, updateRaw } from './raw-documents.ts';
import { canBeSlow, delayNext, slowCommands, type Obstacle } from './slow-commands.ts';

/** How long a command of the repair is held, before it begins. */
const holdMs = 1_200;

type Stage = readonly [side: 'source' | 'destination', command: string, times?: number];

/** The commands by which a repair brings what differs in a range, in their order. */
const stagesBy: Readonly<Record<'hashes' | 'bytes', readonly Stage[]>> = {
  hashes: [
    // Of the buckets, and then of the documents in those that differ.
    ['source', 'aggregate', 2],
    ['destination', 'delete'],
    ['source', 'find'],
    ['destination', 'insert'],
  ],
  bytes: [
    ['source', 'find'],
    ['destination', 'delete'],
    ['source', 'find'],
    ['destination', 'insert'],
  ],
};

const count = 60;

const decimal = (text: string): Decimal128 => Decimal128.fromString(text);

/** Values that are equal to the server, or nearly, and that are not the same. */
const values: readonly unknown[] = [
  ...[new Int32(1), Long.fromNumber(1), new Double(1), decimal('1'), decimal('1.00')],
  ...[new Double(0), new Double(-0), decimal('0'), decimal('-0E3')],
  ...[new Double(NaN), decimal('NaN'), 'one', new BSONSymbol('one')],
  ...[{ a: 1, b: 2 }, { b: 2, a: 1 }, [1, 2], { 0: 1, 1: 2 }, null],
];

/** The same `_id` to the server, of another type. */
const idTypes: readonly ((n: number) => object)[] = [
  (n) => new Int32(n),
  (n) => Long.fromNumber(n),
  (n) => new Double(n),
  (n) => decimal(`${n}.0`),
];

describe('a repair, each of whose commands is held', () => {
  const pair = useClusterPair({ parameters: canBeSlow });
  const shop = (): Db => pair.source.client.db('shop');
  const copy = (): Db => pair.destination.client.db('shop');
  const rows = (db: Db, name = 'items'): Collection<Row> => db.collection<Row>(name);
  const items = { namespace: 'shop.items' };

  beforeEach(async () => {
    await pair.reset();
    await rows(shop()).createIndexes([
      { key: { place: 1 }, unique: true, sparse: true },
      { key: { v: 1 } },
    ]);
    await rows(shop()).insertMany(
      Array.from({ length: count }, (_, n) => ({ _id: new Int32(n), place: n, v: new Int32(1) })),
    );
    await rows(shop(), 'others').insertOne({ _id: 'other' });
    await shop().createCollection('capped', { capped: true, size: 4_096 });
  });

  /** What the copy lacks, has otherwise, has in addition, and has under an `_id` of another type. */
  async function damage(): Promise<void> {
    for (let n = 0; n < count; n += 6) {
      await rows(copy()).deleteOne(byId(n));
      await rows(copy()).updateOne(byId(n + 1), { $set: { v: 'damaged' } });
      await rows(copy()).insertOne({ _id: new Double(count + n + 0.5), v: 'too many' });
      await rows(copy()).deleteOne(byId(n + 2));
      await rows(copy()).insertOne({ _id: new Double(n + 2), place: n + 2, v: new Int32(1) });
    }
  }

  /** One change of the source, of documents that the copy may lack, or have otherwise. */
  async function change(chance: SeededRandom): Promise<void> {
    const n = chance.below(count + 10);
    const v = chance.pick(values);
    const of = byId(n);
    const source = rows(shop());
    const other = (n + 1 + chance.below(count - 1)) % count;
    const _id = chance.pick(idTypes)(n);
    await chance.pick([
      async () => await source.updateOne(of, { $set: { v } }),
      async () => await source.updateOne(of, { $unset: { v: 1 } }),
      async () => {
        await source.updateOne(of, { $rename: { v: 'w' } });
        await source.updateOne(of, { $set: { v } });
      },
      async () => await source.replaceOne(of, { v, replaced: chance.below(9) }),
      async () => await source.deleteOne(of),
      async () => {
        await source.deleteOne(of);
        await source.insertOne({ _id, v });
      },
      async () => {
        // The payload of a NaN.
        const bits = Buffer.from([chance.below(256), 0, 0, 0, 0, 0, 0xf8, 0x7f]);
        if ((await source.countDocuments(of)) === 1)
          await updateRaw(
            shop(),
            'items',
            new Int32(n),
            raw(['v', new Double(bits.readDoubleLE())]),
          );
      },
      async () => {
        const swapped = { place: 1 };
        const [one, two] = await Promise.all(
          [of, byId(other)].map(
            async (each) => await source.findOne(each, { projection: swapped }),
          ),
        );
        if (one?.['place'] === undefined || two?.['place'] === undefined || n === other) return;
        await source.updateOne(of, { $unset: { place: 1 } });
        await source.updateOne(byId(other), { $set: { place: one['place'] } });
        await source.updateOne(of, { $set: { place: two['place'] } });
      },
      async () => {
        const moved = await source.findOneAndDelete(of);
        if (moved) await rows(shop(), 'others').replaceOne(of, moved, { upsert: true });
      },
      async () => await rows(shop(), 'capped').insertOne({ _id: chance.next(), v }),
      async () => await source.updateOne(of, { $set: { large: 'x'.repeat(2_000_000) } }),
    ])();
  }

  async function repaired(syncer: SyncerProcess): Promise<void> {
    await syncer.waitFor(({ canCommit, repairs }) => canCommit && (repairs ?? 0) > 0);
    await commitAndWait(syncer);
    await pair.assertEqual();
  }

  for (const seed of chosenSeeds(firstSeeds(6), { perDay: 2 }))
    for (const comparison of ['hashes', 'bytes'] as const)
      it(`by ${comparison} loses no document that changes in between, and brings none back, seed ${seed}`, async () => {
        const chance = new SeededRandom(seed);
        await using syncer = await pair.syncing();
        await damage();
        const stages = stagesBy[comparison];
        await using held = new AsyncDisposableStack();
        const hold = async (stage: Stage | undefined): Promise<Obstacle | undefined> => {
          if (!stage) return undefined;
          const [side, command] = stage;
          return held.use(await slowCommands(pair[side], [command], holdMs, items.namespace));
        };
        let obstacle = await hold(stages[0]);
        assert.equal((await syncer.post('repair', { comparison })).status, 200);
        for (const [index, [, , times = 1]] of stages.entries()) {
          for (let time = 1; time <= times; time++) {
            await obstacle?.reached(time);
            // On the other server: one that holds a command cannot be told to hold others.
            if (time === times) obstacle = await hold(stages[index + 1]);
            for (let step = 0; step < 12; step++) await change(chance);
          }
        }
        await held.disposeAsync();
        await syncer.waitFor(({ canCommit }) => canCommit);
        for (let step = 0; step < 12; step++) await change(chance);
        await repaired(syncer);
      });

  const catalogChanges: Readonly<Record<string, () => Promise<unknown>>> = {
    'drops it': async () => await rows(shop()).drop(),
    'drops it and makes another': async () => {
      await rows(shop()).drop();
      await rows(shop()).insertOne({ _id: 1, v: 'of another' });
    },
    'renames it': async () => await rows(shop()).rename('renamed'),
    'renames it and back, with other documents': async () => {
      await rows(shop()).rename('renamed');
      await rows(shop()).insertMany([{ _id: 0 }, { _id: 1 }, { _id: 'more' }]);
      await rows(shop(), 'renamed').updateMany({}, { $set: { renamed: true } });
      await rows(shop()).rename('former');
      await rows(shop(), 'renamed').rename('items');
    },
    'exchanges it': async () => {
      await rows(shop()).rename('former');
      await rows(shop(), 'others').rename('items');
      await rows(shop(), 'former').rename('others');
      await rows(shop()).insertOne({ _id: 0, v: 'exchanged' });
      await rows(shop(), 'others').deleteMany({ place: { $lt: 5 } });
    },
    'moves it to another database': async () => {
      const to = { renameCollection: 'shop.items', to: 'store.items' };
      await pair.source.client.db('admin').command(to);
    },
    'makes it capped': async () =>
      await shop().command({ convertToCapped: 'items', size: 1_000_000 }),
    'alters it, and its indexes': async () => {
      await shop().command({ collMod: 'items', validator: { v: { $exists: true } } });
      await rows(shop()).dropIndex('place_1');
      await rows(shop()).createIndexes([{ key: { place: -1 }, unique: true, sparse: true }]);
      await shop().command({ collMod: 'items', index: { name: 'v_1', hidden: true } });
    },
  };

  for (const [what, changeCatalog] of Object.entries(catalogChanges))
    for (const [side, command] of shareOfDay(stagesBy.hashes, 1))
      it(`is right if the source ${what}, ${command} on the ${side} being held`, async () => {
        await using syncer = await pair.syncing();
        await damage();
        const reached = await delayNext(pair[side], command, holdMs, items);
        assert.equal((await syncer.post('repair', {})).status, 200);
        await reached();
        await changeCatalog();
        await repaired(syncer);
      });

  const refusals: Readonly<Record<string, readonly [body: Document, error: string]>> = {
    start: [{ source: 'cluster0', destination: 'cluster1' }, 'InvalidStateTransition'],
    commit: [{}, 'CannotCommitYet'],
    resume: [{}, 'InvalidStateTransition'],
    reverse: [{}, 'InvalidStateTransition'],
  };

  /** Where a command comes: while the catalog is settled, while ranges are compared, and while documents are brought. */
  const places: readonly Stage[] = [
    ['destination', 'listIndexes'],
    ['source', 'aggregate'],
    ['destination', 'delete'],
    ['destination', 'insert'],
  ];

  const commands: Readonly<Record<string, (syncer: SyncerProcess) => Promise<void>>> = {
    'is refused by name where it cannot be, and': async (syncer) => {
      for (const [command, [body, error]] of Object.entries(refusals))
        assert.equal((await syncer.post(command, body)).body['error'], error, command);
    },
    'pauses and resumes, and': async (syncer) => {
      assert.equal((await syncer.post('pause', {})).status, 200);
      const refusal = await syncer.post('repair', { comparison: 'bytes' });
      assert.equal(refusal.body['error'], 'InvalidStateTransition');
      await rows(shop()).updateMany(byId(1), { $set: { v: 'changed in the pause' } });
      await rows(shop()).deleteMany({ place: { $in: [0, 2, 5, 6] } });
      assert.equal((await syncer.post('resume', {})).status, 200);
    },
    'is killed, and': async (syncer) => {
      await syncer.kill('SIGKILL');
      await rows(shop()).deleteMany({ place: { $in: [0, 2, 5, 6] } });
      await syncer.restart();
    },
    'is repaired again, by bytes, and': async (syncer) => {
      assert.equal((await syncer.post('repair', { comparison: 'bytes' })).status, 200);
    },
    'is reset with what it has made, and started over, and': async (syncer) => {
      assert.equal((await syncer.post('reset', { destination: 'Clean' })).status, 200);
      await syncer.waitFor(({ state }) => state === 'IDLE');
      assert.deepEqual(await copy().listCollections().toArray(), []);
      await syncer.start({ source: 'cluster0', destination: 'cluster1' });
      await syncer.waitFor(({ canCommit }) => canCommit);
      assert.equal((await syncer.post('repair', {})).status, 200);
    },
    'is reset without its data, and started over it, and': async (syncer) => {
      assert.equal((await syncer.post('reset', { destination: 'Keep' })).status, 200);
      await syncer.waitFor(({ state }) => state === 'IDLE');
      const body = { source: 'cluster0', destination: 'cluster1' };
      assert.equal((await syncer.post('start', body)).body['error'], 'DestinationNotEmpty');
      await syncer.start({ ...body, initialData: 'Present' });
      await syncer.waitFor(({ canCommit }) => canCommit);
      assert.equal((await syncer.post('repair', {})).status, 200);
    },
  };

  for (const [what, give] of Object.entries(commands))
    for (const [side, command] of shareOfDay(places, 1))
      it(`${what} is right, ${command} on the ${side} being held`, async () => {
        await using syncer = await pair.syncing();
        await damage();
        const reached = await delayNext(pair[side], command, holdMs, items);
        assert.equal((await syncer.post('repair', {})).status, 200);
        await reached();
        await give(syncer);
        await repaired(syncer);
      });

  it('has every index in the end, though the copy has documents that some refuse', async () => {
    const arrays = { _id: 'arrays', x: [1], y: 1 };
    await rows(shop()).insertMany([arrays, { _id: 'place', at: [1, 1] }, { _id: 'hashed', h: 1 }]);
    await rows(shop()).createIndexes([
      { key: { x: 1, y: 1 } },
      { key: { at: '2dsphere' } },
      { key: { h: 'hashed' } },
      { key: { text: 'text' } },
    ]);
    await using syncer = await pair.syncing();
    await rows(copy()).dropIndexes();
    await rows(copy()).replaceOne(byId('arrays'), { x: [1], y: [1] });
    await rows(copy()).updateOne(byId('place'), { $set: { at: 'nowhere' } });
    await rows(copy()).updateOne(byId('hashed'), { $set: { h: [1] } });
    await rows(copy()).insertOne({ _id: 'more', text: 'x', language: 'none such' });
    assert.equal((await syncer.post('repair', {})).status, 200);
    await repaired(syncer);
  });
});
