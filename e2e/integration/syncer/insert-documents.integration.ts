import assert from 'node:assert/strict';
import { BSON } from 'mongodb';
import { createClusterClient } from '../../../mongo/cluster-client.ts';
import { createLogger } from '../../../service/logger.ts';
import { parseStartBody } from '../../../syncer/api/start-body.ts';
import { insertDocuments } from '../../../syncer/copy/insert-documents.ts';
import { forward, useClusterPair } from './cluster-pair.ts';
import { idsOfEveryType } from './every-id.ts';

describe('documents that are copied again', () => {
  const pair = useClusterPair();
  const kinds = {
    'an ordinary collection': {},
    'a clustered collection': { clusteredIndex: { key: { _id: 1 }, unique: true } },
  };
  for (const [what, options] of Object.entries(kinds)) {
    it(`are left as they are, whatever their _id, in ${what}`, async () => {
      const { client, set } = pair.destination;
      await client.db('shop').dropDatabase();
      const items = await client.db('shop').createCollection('items', options);
      await using destination = createClusterClient({
        uri: set.uri('syncer'),
        option: 'cluster1',
        appName: 'clustersync syncer syncer',
      });
      const context = {
        destination,
        signal: AbortSignal.timeout(60_000),
        requireClaim: () => undefined,
        logger: createLogger('syncer', 'fatal'),
        options: parseStartBody(forward),
      };
      const insert = async (value: number): Promise<void> => {
        const documents = idsOfEveryType().map((_id) => BSON.serialize({ _id, value }));
        await insertDocuments(context, { db: 'shop', coll: 'items' }, documents);
      };
      await insert(1);
      const count = await items.countDocuments({});
      await insert(2);
      assert.equal(await items.countDocuments({ value: 1 }), count);
      assert.equal(await items.countDocuments({}), count);
    });
  }
});
