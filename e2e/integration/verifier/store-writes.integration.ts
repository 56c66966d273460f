import assert from 'node:assert/strict';
import { BSON, MongoClient, type Document } from 'mongodb';
import {
  startProxiedReplicaSet,
  type ProxiedReplicaSet,
} from '../../ground/mongod/proxied-replica-set.ts';
import { startReplicaSet, type ReplicaSet } from '../../ground/mongod/replica-set.ts';
import { commandOf } from '../syncer/command-kind.ts';
import { openSession } from './verifier-session.ts';

const database = 'clustersync_verifier';
const writes = ['insert', 'update', 'delete', 'findAndModify', 'drop', 'create', 'createIndexes'];

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
    const sent: Document[] = [];
    for (const proxy of destination.proxies)
      proxy.strandAt((bytes) => {
        const command = bytes.includes(database) ? commandOf(bytes) : undefined;
        if (command?.['$db'] === database) sent.push(command);
        return false;
      });
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

    const kinds = new Set<string>();
    for (const command of sent) {
      const [kind = ''] = Object.keys(command);
      if (!writes.includes(kind)) continue;
      kinds.add(`${kind} ${String(command[kind])}`);
      const { writeConcern } = command as { readonly writeConcern?: Document };
      assert.deepEqual(writeConcern, { w: 'majority', j: true }, BSON.EJSON.stringify(command));
    }
    for (const kind of [
      'findAndModify verifications',
      'update verifications',
      'findAndModify processes',
      'insert tasks',
      'update tasks',
      'update coverages',
      'update mismatches',
    ])
      assert.ok(kinds.has(kind), `${kind} is among ${[...kinds].join(', ')}`);
  });
});
