import assert from 'node:assert/strict';
import { MaxKey, MinKey, MongoClient, type Document } from 'mongodb';
import { startReplicaSet, type ReplicaSet } from '../../ground/mongod/replica-set.ts';
import type { VerifierOptions } from '../../../verifier/options.ts';
import { openSession, type Progress } from './verifier-session.ts';

/** More than one batch of the verifier. */
const documentCount = 12_000;

interface Row {
  readonly _id: unknown;
  readonly text: string;
}

describe('the verifier, over the whole order of _id', () => {
  let source: ReplicaSet;
  let destination: ReplicaSet;

  before(async () => {
    [source, destination] = await Promise.all([
      startReplicaSet({ members: 1, name: 'source' }),
      startReplicaSet({ members: 1, name: 'destination' }),
    ]);
    for (const side of [source, destination]) {
      await using client = new MongoClient(side.uri('admin'));
      const ids: unknown[] = [new MinKey(), new MaxKey(), 'text', { a: 1 }];
      for (let number = ids.length; number < documentCount; number++) ids.push(number);
      const documents = ids.map((_id): Document => ({ _id, value: 1 }));
      await client.db('order').collection('all').insertMany(documents);
    }
  });

  after(async () => {
    await Promise.all([source.stop(), destination.stop()]);
  });

  const verify = async (options: Partial<VerifierOptions> = {}): Promise<Progress> => {
    await using session = await openSession({
      srcURI: source.uri('syncer'),
      destURI: destination.uri('syncer'),
      ...options,
    });
    await session.post('check');
    await session.post('writesOff');
    return await session.untilComplete();
  };

  it('finds equal sides equal, the smallest and the greatest id with them', async () => {
    const { verdict, verificationStatus } = await verify();
    assert.deepEqual([verdict, verificationStatus.failedTasks], ['equal', 0]);
  });

  it('reads the greatest id of a clustered collection once, in whatever ranges', async () => {
    for (const side of [source, destination]) {
      await using client = new MongoClient(side.uri('admin'));
      const options = { clusteredIndex: { key: { _id: 1 }, unique: true } };
      const clustered = await client.db('clustered').createCollection<Row>('all', options);
      const ids = [...Array(500).keys(), new MaxKey()];
      await clustered.insertMany(ids.map((_id) => ({ _id, text: 'x'.repeat(1_000) })));
    }
    const includeNamespaces = JSON.stringify([{ database: 'clustered' }]);
    const options = { verifyAll: false, includeNamespaces, partitionMebibytes: 0.025 };
    const { verdict, proof } = await verify(options);
    assert.equal(verdict, 'equal');
    assert.deepEqual(proof?.documentsCompared, { source: 501, destination: 501 });
    assert.ok(proof.ranges > 10, `${proof.ranges} ranges`);
  });

  for (const id of [new MinKey(), new MaxKey()]) {
    it(`finds a document that differs at ${id.constructor.name}`, async () => {
      await using client = new MongoClient(destination.uri('admin'));
      const collection = client.db('order').collection<{ _id: unknown }>('all');
      await collection.updateOne({ _id: id }, { $set: { value: 2 } });
      const { verdict } = await verify();
      assert.equal(verdict, 'different');
      await collection.updateOne({ _id: id }, { $set: { value: 1 } });
    });
  }
});
