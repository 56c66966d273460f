import assert from 'node:assert/strict';
import { BSON, Int32, MongoClient, type Document } from 'mongodb';
import { documentSequence } from '../../../mongo/document-sequence.ts';
import { startReplicaSet, type ReplicaSet } from '../../ground/mongod/replica-set.ts';
import { until } from '../../ground/until.ts';
import { openSession, verifyOnce } from './verifier-session.ts';

describe('verifier, hard data and hard times', () => {
  let sets: readonly ReplicaSet[] = [];
  let clients: readonly MongoClient[] = [];

  before(async () => {
    sets = await Promise.all([
      startReplicaSet({ members: 1 }),
      startReplicaSet({ members: 1, side: 'destination' }),
    ]);
    clients = sets.map((set) => new MongoClient(set.uri('admin')));
  });

  after(async () => {
    for (const client of clients) await client.close();
    for (const set of sets) await set.stop();
  });

  beforeEach(async () => {
    for (const client of clients) await client.db('shop').dropDatabase();
  });

  function uris(): { srcURI: string; destURI: string } {
    const [srcURI, destURI] = sets.map((set) => set.uri('syncer'));
    assert.ok(srcURI !== undefined && destURI !== undefined);
    return { srcURI, destURI };
  }

  function destination(): MongoClient {
    const [, client] = clients;
    assert.ok(client);
    return client;
  }

  /** Some 200 MiB of documents of 10 KiB with numbers, texts and objects as _id: several ranges, many batches. */
  async function loadLarge(): Promise<void> {
    const filling = 'x'.repeat(10_000);
    for (const client of clients) {
      for (let start = 0; start < 20_000; start += 1000) {
        const rows = Array.from({ length: 1000 }, (_, index): Document => {
          const number = start + index;
          return { _id: [number, `t${number}`, { n: number }][number % 3], number, filling };
        });
        await client
          .db('shop')
          .collection('large')
          .insertMany(rows, { writeConcern: { w: 1 } });
      }
    }
  }

  it('finds each of several faults in a collection that is compared in ranges', async () => {
    await loadLarge();
    const large = destination().db('shop').collection('large');
    const numbers = [0, 1, 2, 9998, 9999, 10_000, 19_997, 19_998, 19_999];
    await large.updateMany({ number: { $in: numbers } }, { $set: { filling: 'y' } });
    await large.deleteMany({ number: { $in: [5000, 5001, 5002] } });
    await large.insertMany([1.5, 't1x', { n: 1.5 }].map((_id): Document => ({ _id })));
    await using session = await openSession(uris());
    await session.post('check');
    const isOver = async (): Promise<boolean> => (await session.progress()).generation > 0;
    await until('the first pass is over', isOver);
    await session.post('writesOff');
    const { mismatches, mismatchCount } = await session.untilComplete();
    assert.equal(mismatchCount, 15);
    const count = (kind: string): number => mismatches.filter((each) => each.kind === kind).length;
    assert.deepEqual(
      [count('differentDocument'), count('missingDocument'), count('extraDocument')],
      [9, 3, 3],
    );
  });

  it('survives that the primaries are killed and started again', async () => {
    await loadLarge();
    await using session = await openSession(uris());
    await session.post('check');
    for (const set of sets) {
      const [member] = set.members;
      assert.ok(member);
      await set.kill(member);
      await set.restart(member);
    }
    const [source] = clients;
    for (const client of [source, destination()]) {
      await client
        ?.db('shop')
        .collection('large')
        .insertOne({ _id: 'late' as never });
    }
    await destination()
      .db('shop')
      .collection('large')
      .updateOne({ number: 10_000 }, { $set: { filling: 'y' } });
    await session.post('writesOff');
    const { mismatches } = await session.untilComplete();
    assert.deepEqual(
      mismatches.map(({ kind, id, field }) => ({ kind, id, field })),
      [{ kind: 'differentDocument', id: '"t10000"', field: 'filling' }],
    );
  });

  it('compares ids that the driver cannot send as they are', async () => {
    for (const [side, client] of clients.entries()) {
      const documents = Array.from({ length: 50 }, (_, n) =>
        strangeDocument(n, side === 1 && n === 7),
      );
      const insert = { insert: 'strange', documents: documentSequence('documents', documents) };
      await client.db('shop').command(insert);
    }
    const { progress } = await verifyOnce(uris());
    assert.deepEqual(
      progress.mismatches.map(({ kind, field }) => ({ kind, field })),
      [{ kind: 'differentDocument', field: 'value' }],
    );
  });

  it('compares clustered collections with a collation', async () => {
    for (const client of clients) {
      const db = client.db('shop');
      await db.createCollection('both', {
        clusteredIndex: { key: { _id: 1 }, unique: true },
        collation: { locale: 'de', strength: 1 },
      });
      const ids = Array.from({ length: 12_000 }, (_, n) => `${n % 2 === 0 ? 'ä' : 'A'}${n}`);
      await db.collection('both').insertMany(ids.map((_id): Document => ({ _id })));
    }
    assert.deepEqual((await verifyOnce(uris())).progress.mismatches, []);
    await destination()
      .db('shop')
      .command({ delete: 'both', deletes: [{ q: { _id: 'A7001' }, limit: 1 }] });
    const { progress } = await verifyOnce(uris());
    assert.deepEqual(
      progress.mismatches.map(({ kind, id }) => ({ kind, id })),
      [{ kind: 'missingDocument', id: '"A7001"' }],
    );
  });

  it('does not mind that one side has deleted what expired, and the other not yet', async () => {
    const now = new Date();
    for (const [side, client] of clients.entries()) {
      const sessions = client.db('shop').collection('sessions');
      await client.db('admin').command({ setParameter: 1, ttlMonitorEnabled: false });
      await sessions.createIndexes([{ key: { at: 1 }, name: 'ttl', expireAfterSeconds: 3600 }]);
      const old = new Date(now.getTime() - 7_200_000);
      if (side === 0) await sessions.insertOne({ _id: 1 as never, at: old });
      else await sessions.insertOne({ _id: 2 as never, at: old });
      await sessions.insertOne({ _id: 3 as never, at: now });
    }
    assert.deepEqual((await verifyOnce(uris())).progress.mismatches, []);
    await destination().db('shop').collection('sessions').deleteMany({});
    const { progress } = await verifyOnce(uris());
    assert.deepEqual(
      progress.mismatches.map(({ kind, id }) => ({ kind, id })),
      [{ kind: 'missingDocument', id: '{"$numberInt":"3"}' }],
    );
  });
});

/** `{_id: {"2": n, "1": 0}, value}`: JavaScript would put the two names in the order of their numbers. */
function strangeDocument(n: number, isOther: boolean): Uint8Array {
  const placeholder = BSON.serialize({ _id: { b: new Int32(n), a: new Int32(0) }, value: isOther });
  const bytes = Buffer.from(placeholder);
  bytes[bytes.indexOf('b\0')] = '2'.charCodeAt(0);
  bytes[bytes.indexOf('a\0')] = '1'.charCodeAt(0);
  return bytes;
}
