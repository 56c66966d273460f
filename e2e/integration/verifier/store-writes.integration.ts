import assert from 'node:assert/strict';
import { MongoClient } from 'mongodb';
import {
  startProxiedReplicaSet,
  type ProxiedReplicaSet,
} from '../../ground/mongod/proxied-replica-set.ts';
import { startReplicaSet, type ReplicaSet } from '../../ground/mongod/replica-set.ts';
import { assertDurable, commandsFor } from '../syncer/durable-writes.ts';
import { openSession } from './verifier-session.ts';

describe('what a verification stores', () => {
  let source: ReplicaSet;
  let destination: ProxiedReplicaSet;
  before(async () => {
    [source, destination] = await Promise.all([
      startReplicaSet({ name: 'source', members: 1 }),
      startProxiedReplicaSet({ name: 'destination', members: 1 }, 'verifier'),
    ]);
  });
  after(async () => {
    await source.stop();
    await destination[Symbol.asyncDispose]();
  });

  it('is acknowledged by a majority that has it in its journal, so that no rollback takes it back', async () => {
    const sent = commandsFor('clustersync_verifier', destination);
    const rows = Array.from({ length: 50 }, (_, _id) => ({ _id, text: 'x'.repeat(1_000) }));
    for (const [index, uri] of [source.uri('admin'), destination.set.uri('admin')].entries()) {
      await using client = new MongoClient(uri);
      // One is missing on the destination.
      await client.db('shop').collection<{ _id: number }>('items').insertMany(rows.slice(index));
    }
    await using session = await openSession({
      ...{ srcURI: source.uri('syncer'), destURI: destination.set.uri('syncer') },
      partitionMebibytes: 0.01,
    });
    await session.post('check');
    await session.post('writesOff');
    assert.equal((await session.untilComplete()).verdict, 'different');

    assertDurable(sent, [
      'findAndModify verifications',
      'update verifications',
      'findAndModify processes',
      'insert tasks',
      'update tasks',
      'update coverages',
      'update mismatches',
    ]);
  });
});
