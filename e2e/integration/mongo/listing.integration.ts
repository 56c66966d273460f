import assert from 'node:assert/strict';
import { MongoClient } from 'mongodb';
import { listNamespaces } from '../../../mongo/catalog.ts';
import { createClusterClient } from '../../../mongo/cluster-client.ts';
import { isTransient } from '../../../mongo/server-errors.ts';
import { startReplicaSet } from '../../ground/mongod/replica-set.ts';

/** More than come with one round trip. */
const viewCount = 250;

describe('listing a database of many collections', () => {
  it('fails with an error that passes where its cursor is lost, and is complete otherwise', async () => {
    await using set = await startReplicaSet({ members: 1, parameters: { enableTestCommands: 1 } });
    await using admin = new MongoClient(set.uri('admin'));
    const names = Array.from({ length: viewCount }, (_, n) => `view${n}`);
    for (const name of names) await admin.db('many').command({ create: name, viewOn: 'rows' });
    const appName = 'listing';
    await using cluster = createClusterClient({ uri: set.uri('admin'), option: 'uri', appName });
    await admin.db('admin').command({
      configureFailPoint: 'failCommand',
      mode: { times: 1 },
      data: { failCommands: ['getMore'], errorCode: 43, appName },
    });
    const { signal } = new AbortController();
    await assert.rejects(listNamespaces(cluster, 'many', signal), isTransient);
    const listed = await listNamespaces(cluster, 'many', signal);
    assert.deepEqual(listed.map(({ namespace }) => namespace.coll).sort(), names.sort());
  });
});
