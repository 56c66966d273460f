import assert from 'node:assert/strict';
import { BSON, Timestamp, type Document } from 'mongodb';
import { idElement } from '../../mongo/raw-bson.ts';
import { createLogger } from '../../service/logger.ts';
import { playedDeployment } from '../../mongo/testing/played-deployment.ts';
import { DestinationDocuments } from './destination-documents.ts';

describe('DestinationDocuments', () => {
  const namespace = { db: 'shop', coll: 'items' };
  const hostUnreachable = 6;
  const writeErrors = [{ index: 0, code: hostUnreachable, errmsg: 'not so' }];
  const refused = { name: 'MongoServerError', code: hostUnreachable };

  /** Documents of a destination that refuses the first statement of such commands, and the commands that it was sent. */
  function refusing(name: string) {
    const { deployment, sent } = playedDeployment((command) =>
      name in command ? { ok: 1, n: 0, writeErrors } : { ok: 1, n: 1 },
    );
    const documents = new DestinationDocuments({
      destination: deployment,
      leftIndexes: {
        leave: async () => {
          await Promise.reject(new Error('no index is in the way'));
        },
      },
      logger: createLogger('test', 'fatal'),
      signal: new AbortController().signal,
    });
    const commands = (): Document[] => sent.map(({ command }) => command);
    return { documents, commands };
  }

  it('fails if a delete is refused, however it names the document', async () => {
    const { documents, commands } = refusing('delete');
    const id = idElement(BSON.serialize({ _id: 1 }));
    const collection = { namespace, options: {}, shardKey: null };
    await assert.rejects(documents.delete(collection, [id]), refused);
    const sharded = { ...collection, shardKey: [{ field: 'a', kind: 1 }] as const };
    const key = { id, placed: BSON.serialize({ a: 1, _id: 1 }), exact: '1', canonical: '1' };
    await assert.rejects(documents.deleteByKeys(sharded, 'byShardKey', [key]), refused);
    assert.equal(commands().length, 2);
  });

  it("fails if the server's own time in a document cannot be corrected", async () => {
    const { documents, commands } = refusing('update');
    const zero = new Timestamp({ t: 0, i: 0 });
    await documents.insert(namespace, [BSON.serialize({ _id: 1 })]);
    const inserting = documents.insert(namespace, [BSON.serialize({ _id: 2, at: zero })]);
    await assert.rejects(inserting, refused);
    assert.deepEqual(
      commands().map((command) => Object.keys(command)[0]),
      ['insert', 'insert', 'update'],
    );
  });
});
