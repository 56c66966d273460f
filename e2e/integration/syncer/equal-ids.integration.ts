import assert from 'node:assert/strict';
import {
  BSONSymbol,
  Decimal128,
  Double,
  Int32,
  Long,
  MongoClient,
  MongoServerError,
  UUID,
  type Document,
} from 'mongodb';
import { changesOf } from '../../../syncer/instances/coordination.ts';
import { startReplicaSet, type ReplicaSet } from '../../ground/mongod/replica-set.ts';

const decimal = (text: string): Decimal128 => Decimal128.fromString(text);

/** What a unique index takes for the same. */
const equals: Readonly<Record<string, readonly [unknown, ...unknown[]]>> = {
  'whole numbers': [new Int32(5), Long.fromNumber(5), new Double(5), decimal('5.00')],
  'a fraction': [new Double(0.75), decimal('0.75'), decimal('0.7500')],
  'a fraction below zero': [new Double(-2.5), decimal('-2.5')],
  'a half that is rounded to the even number': [new Double(1.5), decimal('1.5')],
  'what no double can be': [Long.fromString('9007199254740993'), decimal('9007199254740993')],
  'the first number above all of 64 bits': [new Double(2 ** 63), decimal('9223372036854775808')],
  'the last number of 64 bits': [Long.MAX_VALUE, decimal('9223372036854775807')],
  'the first number of 64 bits': [Long.MIN_VALUE, new Double(-(2 ** 63))],
  'a large number': [new Double(2 ** 80), decimal('1208925819614629174706176')],
  'what is out of the range of doubles': [decimal('1E400'), decimal('10E399')],
  zeros: [new Int32(0), new Double(-0), decimal('0'), decimal('-0E3')],
  'no number': [new Double(NaN), decimal('NaN')],
  infinity: [new Double(Infinity), decimal('Infinity')],
  'a text and a symbol': ['a', new BSONSymbol('a')],
  'a field': [{ tenant: new Double(0.75) }, { tenant: decimal('0.75') }],
  'one of several fields': [
    { tenant: 'a', number: decimal('1.5') },
    { tenant: 'a', number: new Double(1.5) },
  ],
  'a field of a field': [{ a: { b: new Double(0.75) } }, { a: { b: decimal('0.75') } }],
  'an array of a field': [{ a: [new Double(0.75)] }, { a: [decimal('0.75')] }],
};

describe('ids that are equal', () => {
  let set: ReplicaSet;
  let client: MongoClient;
  before(async () => {
    set = await startReplicaSet({ members: 1 });
    client = new MongoClient(set.uri('admin'));
  });
  after(async () => {
    await client.close();
    await set.stop();
  });

  /** Which of so many instances asks for the changes of a document. */
  async function ownersOf(id: unknown, count: number, isByValue: boolean): Promise<number[]> {
    const event = { operationType: 'update', collectionUUID: new UUID(), documentKey: { _id: id } };
    const matches = Array.from({ length: count }, (_, index) => {
      return changesOf({ index, count, isByValue }, []) ?? assert.fail('everything is asked for');
    });
    const facets = Object.fromEntries(matches.map((match, index) => [index, [{ $match: match }]]));
    const [found = {}] = await client
      .db('shop')
      .aggregate([{ $documents: [{ $literal: event }] }, { $facet: facets }])
      .toArray();
    return Object.keys(facets)
      .map(Number)
      .filter((index) => (found[index] as Document[]).length > 0);
  }

  for (const [what, ids] of Object.entries(equals)) {
    it(`belong to one instance: ${what}`, async () => {
      const [first, ...others] = ids;
      const items = client.db('shop').collection<{ _id: unknown }>('items');
      await items.deleteMany({});
      await items.insertOne({ _id: first });
      for (const other of others)
        await assert.rejects(
          items.insertOne({ _id: other }),
          (error) => error instanceof MongoServerError && error.code === 11000,
        );
      for (const count of [2, 3, 5, 64]) {
        const owners = await ownersOf(first, count, true);
        assert.equal(owners.length, 1);
        for (const other of others) assert.deepEqual(await ownersOf(other, count, true), owners);
      }
    });
  }

  it('do not by the hash alone, as a former release went', async () => {
    const [double, inDecimal] = equals['a fraction'] ?? [];
    assert.notDeepEqual(await ownersOf(double, 64, false), await ownersOf(inDecimal, 64, false));
  });

  it('are spread over the instances, as others are', async () => {
    const documents = Array.from({ length: 400 }, (_, number) => [
      { $literal: { _id: { tenant: 'a', number } } },
      { $literal: { _id: number } },
    ]);
    for (const kind of [0, 1]) {
      const events = documents.map((of) => ({ operationType: 'insert', documentKey: of[kind] }));
      const counts: number[] = [];
      for (const index of [0, 1, 2, 3]) {
        const match =
          changesOf({ index, count: 4, isByValue: true }, []) ?? assert.fail('no match');
        const found = client.db('shop').aggregate([{ $documents: events }, { $match: match }]);
        counts.push((await found.toArray()).length);
      }
      assert.equal(
        counts.reduce((sum, count) => sum + count),
        400,
      );
      assert.ok(Math.min(...counts) > 60, counts.join());
    }
  });
});
