import assert from 'node:assert/strict';
import { BSON, MongoClient } from 'mongodb';
import { startReplicaSet, type ReplicaSet } from '../../ground/mongod/replica-set.ts';
import { catalogFaults } from './catalog-faults.ts';
import { documentFaults } from './document-faults.ts';
import { items, load } from './faulty-shop.ts';
import { verifyOnce } from './verifier-session.ts';

const { EJSON } = BSON;

const faults = [...documentFaults, ...catalogFaults];

describe('verifier, single faults on the destination', () => {
  let sets: readonly ReplicaSet[] = [];
  let source: MongoClient;
  let destination: MongoClient;

  before(async () => {
    sets = await Promise.all([
      startReplicaSet({ members: 1 }),
      startReplicaSet({ members: 1, side: 'destination' }),
    ]);
    source = new MongoClient(uri(0));
    destination = new MongoClient(uri(1));
    await load(source.db('shop'));
  });

  after(async () => {
    await source.close();
    await destination.close();
    for (const set of sets) await set.stop();
  });

  beforeEach(async () => {
    await destination.db('shop').dropDatabase();
    await destination.db('shop2').dropDatabase();
    await load(destination.db('shop'));
  });

  function uri(side: 0 | 1): string {
    const set = sets[side];
    if (!set) throw new Error('the replica sets are not running');
    return set.uri('admin');
  }

  it('finds nothing where there is none', async () => {
    const { progress } = await verifyOnce({ srcURI: uri(0), destURI: uri(1), workers: 2 });
    assert.deepEqual(progress.mismatches, []);
    assert.equal(progress.verdict, 'equal');
    assert.equal(progress.verificationStatus.failedTasks, 0);
    assert.equal(progress.documentsCompared >= 14, true);
  });

  it('has at least 82 faults to find, each with its place', () => {
    assert.ok(faults.length >= 82, String(faults.length));
    for (const { name, expected } of faults) {
      const { kind, id, index, field } = expected;
      if (kind.endsWith('Document') || kind.endsWith('Order')) assert.notEqual(id, undefined, name);
      if (kind.endsWith('Index')) assert.notEqual(index, undefined, name);
      const isDifference = /^(different|options|fieldOrder)/.test(kind);
      if (isDifference) assert.notEqual(field, undefined, name);
    }
  });

  for (const { name, inject, expected, others = [], isSeveral = false } of faults) {
    it(`finds ${name}`, async () => {
      await inject(destination.db('shop'));
      const { progress, log } = await verifyOnce({ srcURI: uri(0), destURI: uri(1), workers: 2 });
      const { id, ...rest } = expected;
      if (!isSeveral) {
        const fields = [expected.field, ...others];
        const places = progress.mismatches.map(({ index, field }) => [index, field]);
        const { index } = expected;
        assert.deepEqual(places.sort(), fields.map((field) => [index, field]).sort());
      }
      const found = progress.mismatches.find(
        ({ kind, field }) =>
          kind === expected.kind && (expected.field === undefined || field === expected.field),
      );
      const wanted = {
        namespace: items,
        ...rest,
        ...(id === undefined ? {} : { id: EJSON.stringify(id, { relaxed: false }) }),
      };
      for (const [field, value] of Object.entries(wanted)) {
        assert.equal(found?.[field as keyof typeof found], value, JSON.stringify(found));
      }
      assert.equal(progress.verdict, 'different');
      assert.equal(progress.verificationStatus.failedTasks, 1);
      const isMetadata = !/Document$|Order$/.test(expected.kind);
      assert.equal(progress.verificationStatus.metadataMismatchTasks, isMetadata ? 1 : 0);
      assert.doesNotMatch(log.join(), /table|chair|lamp|abd/);
    });
  }
});
