import assert from 'node:assert/strict';
import { BSON, MongoClient } from 'mongodb';
import { createClusterClient } from '../../../mongo/cluster-client.ts';
import { deploymentOf } from '../../../mongo/deployment.ts';
import { serverCode } from '../../../mongo/server-errors.ts';
import { createLogger } from '../../../service/logger.ts';
import { DestinationDocuments } from '../../../syncer/destination/destination-documents.ts';
import { startReplicaSet } from '../../ground/mongod/replica-set.ts';

const namespace = { db: 'shop', coll: 'items' };
const appName = 'refused update';

/** What a primary that steps down adds to its answer. */
const writeConcernError = { code: 91, codeName: 'ShutdownInProgress', errmsg: 'shutting down' };

describe('an update of which one statement is refused', () => {
  it('fails where a majority may lack the statements before it', async () => {
    await using set = await startReplicaSet({ members: 1, parameters: { enableTestCommands: 1 } });
    await using admin = new MongoClient(set.uri('admin'));
    const items = admin.db('shop').collection<{ _id: number }>('items');
    await items.insertMany([{ _id: 1 }, { _id: 2 }]);
    await using client = createClusterClient({ uri: set.uri('admin'), option: 'uri', appName });
    const documents = new DestinationDocuments({
      destination: deploymentOf(client, { kind: 'replicaSet', shards: [] }),
      signal: AbortSignal.timeout(60_000),
      logger: createLogger('syncer', 'fatal'),
      leftIndexes: {
        leave: async () => {
          await Promise.reject(new Error('no index refuses one'));
        },
      },
    });
    const statements = [
      { q: { _id: 1 }, u: { _id: 1, n: 1 } },
      { q: { _id: 2 }, u: { _id: 3 } },
    ].map((statement) => BSON.serialize(statement));

    const { n, writeErrors } = await documents.update(namespace, statements);
    const refused = [{ index: 1, code: serverCode.immutableField }];
    assert.equal(n, 1);
    assert.deepEqual(
      writeErrors.map(({ index, code }) => ({ index, code })),
      refused,
    );

    await admin.db('admin').command({
      configureFailPoint: 'failCommand',
      mode: { times: 1 },
      data: { failCommands: ['update'], appName, writeConcernError },
    });
    await assert.rejects(documents.update(namespace, statements), { code: writeConcernError.code });
    assert.equal((await documents.update(namespace, statements)).writeErrors.length, 1);
  });
});
