import assert from 'node:assert/strict';
import type { Document } from 'mongodb';
import { verifierDatabase } from '../../../mongo/namespace.ts';
import { until } from '../../ground/until.ts';
import { useReplicaSetPair } from './replica-set-pair.ts';
import { openSession, type VerifierSession } from './verifier-session.ts';

interface Row extends Document {
  readonly _id: number;
}

const collections = 20;
const rowsEach = 20;

describe('verifier, a check after a failure, of processes that go on living', () => {
  const pair = useReplicaSetPair({ parameters: { enableTestCommands: 1 } });

  before(async () => {
    for (const db of [pair.source, pair.destination]) {
      for (let number = 0; number < collections; number++) {
        const rows = Array.from({ length: rowsEach }, (_, _id) => ({ _id, text: 'x'.repeat(500) }));
        await db.collection<Row>(`c${number}`).insertMany(rows);
      }
    }
  });

  afterEach(async () => {
    await setFailPoint({ mode: 'off' });
  });

  async function setFailPoint(fields: object): Promise<void> {
    const [client] = pair.clients;
    await client?.db('admin').command({ configureFailPoint: 'failCommand', ...fields });
  }

  /** Lets one read of a collection of the source fail with an error that is not retried. */
  async function failOnce(): Promise<void> {
    const appName = 'clustersync verifier';
    const data = { failCommands: ['find'], errorCode: 13, appName };
    await setFailPoint({ mode: { times: 1 }, data });
  }

  async function assertCompletes(session: VerifierSession): Promise<void> {
    assert.equal((await session.post('check')).status, 200);
    await session.post('writesOff');
    const { verdict } = await session.untilComplete();
    assert.equal(verdict, 'equal');
  }

  it('carries out the tasks that it had claimed', async () => {
    const [srcURI = '', destURI = ''] = pair.sets.map((set) => set.uri('syncer'));
    await using session = await openSession({ srcURI, destURI });
    await failOnce();
    await session.post('check');
    assert.match(await session.untilFailed(), /^MissingPrivileges: /);
    const { processingTasks } = (await session.progress()).verificationStatus;
    assert.ok(processingTasks > 0, 'it has left tasks behind');
    await assertCompletes(session);
  });

  it('carries out the tasks that each of several had claimed', async () => {
    const [srcURI = '', destURI = ''] = pair.sets.map((set) => set.uri('syncer'));
    const slowly = { srcURI, destURI, workers: 1, maxBytesPerSecond: 20_000 };
    await using first = await openSession({ ...slowly, id: 'first' });
    await using second = await openSession({ ...slowly, id: 'second', clean: false });
    const tasks = pair.clients[1]?.db(verifierDatabase).collection('tasks');
    const owners = async (): Promise<number> =>
      (await tasks?.distinct('owner', { state: 'processing' }))?.length ?? 0;
    await first.post('check');
    await until('both work', async () => (await owners()) === 2);
    const { addedTasks } = (await first.progress()).verificationStatus;
    assert.ok(addedTasks > 0, 'each has more to claim');
    await failOnce();
    for (const session of [first, second]) assert.match(await session.untilFailed(), /^Missing/);
    assert.equal(await owners(), 2, 'both have left tasks behind');
    await assertCompletes(second);
    assert.equal((await first.untilComplete()).verdict, 'equal');
  });
});
