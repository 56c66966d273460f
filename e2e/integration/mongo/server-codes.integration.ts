import assert from 'node:assert/strict';
import { MongoClient, MongoServerError } from 'mongodb';
import { serverCodeOf, serverCodes } from '../../../mongo/server-codes.ts';
import { startReplicaSet } from '../../ground/mongod/replica-set.ts';

/** Beyond the numbers that are given in order. */
const highest = 500;

/** With these a server closes the connection, or ends. */
const notAnswered = new Set([0, 303, 330, 354, 372]);

/** As 6.0 calls them: later versions have given them another name. */
const formerNames: Readonly<Record<number, string>> = {
  64: 'WriteConcernFailed',
  193: 'NoShardingEnabled',
  360: 'ShardVersionRefreshCanceled',
};

describe('the table of the error codes of servers', () => {
  it('has each code that a server has a name for, by that name', async () => {
    const parameters = { enableTestCommands: 1 };
    await using set = await startReplicaSet({ members: 1, parameters });
    await using admin = new MongoClient(set.uri('admin'), { retryReads: false });
    const appName = 'codes';
    await using client = new MongoClient(set.uri('admin'), { appName, retryReads: false });
    const inOrder = Array.from({ length: highest }, (_, code) => code);
    const asked = new Set([...inOrder, ...serverCodes().map(({ code }) => code)]);
    let named = 0;
    for (const code of [...asked].filter((one) => !notAnswered.has(one))) {
      const data = { failCommands: ['count'], errorCode: code, appName };
      const failPoint = { configureFailPoint: 'failCommand', mode: { times: 1 }, data };
      await admin.db('admin').command(failPoint);
      const name = await client
        .db('data')
        .command({ count: 'items' })
        .then(
          () => undefined,
          (error: unknown) => (error instanceof MongoServerError ? error.codeName : undefined),
        );
      await admin.db('admin').command({ ...failPoint, mode: 'off' });
      // What has no name, and what comes with more than a name, is called after its place in the server's sources.
      if (name === undefined || name.startsWith('Location')) continue;
      named++;
      assert.ok([serverCodeOf(code)?.name, formerNames[code]].includes(name), `${code} ${name}`);
    }
    assert.ok(named > 350, `${named} names`);
  });
});
