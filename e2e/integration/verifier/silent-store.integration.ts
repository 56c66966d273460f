import assert from 'node:assert/strict';
import { verifierDatabase } from '../../../mongo/namespace.ts';
import { until } from '../../ground/until.ts';
import { useReplicaSetPair } from './replica-set-pair.ts';
import { openSession, type VerifierSession } from './verifier-session.ts';

describe('verifier, the progress while a server does not answer', () => {
  const pair = useReplicaSetPair({ parameters: { enableTestCommands: 1 } });

  async function setFailPoint(side: 'source' | 'destination', fields: object): Promise<void> {
    const client = pair.clients[side === 'source' ? 0 : 1];
    await client?.db('admin').command({ configureFailPoint: 'failCommand', ...fields });
  }

  before(async () => {
    for (const db of [pair.source, pair.destination])
      await db.collection<{ _id: number }>('items').insertOne({ _id: 1 });
  });

  afterEach(async () => {
    for (const side of ['source', 'destination'] as const)
      await setFailPoint(side, { mode: 'off' });
  });

  async function start(): Promise<VerifierSession> {
    const [srcURI = '', destURI = ''] = pair.sets.map((set) => set.uri('syncer'));
    return await openSession({ srcURI, destURI });
  }

  async function untilWarned(session: VerifierSession, warning: RegExp): Promise<void> {
    await until('there is a warning', async () =>
      (await session.progress()).warnings.some((text) => warning.test(text)),
    );
  }

  async function untilQuiet(session: VerifierSession): Promise<void> {
    await until(
      'there is no warning',
      async () => (await session.progress()).warnings.length === 0,
    );
  }

  it('says since when it is not the latest, and what is retried, until it is again', async () => {
    await using session = await start();
    await session.post('check');
    const before = await session.progress();
    assert.deepEqual([before.asOf, before.warnings], [null, []]);
    const sinceMs = Date.now();
    await setFailPoint('destination', {
      mode: 'alwaysOn',
      // Tried again for as long as it takes.
      data: {
        failCommands: ['find'],
        namespace: `${verifierDatabase}.verifications`,
        errorCode: 112,
      },
    });
    const stale = await session.progress();
    assert.ok(stale.asOf !== null);
    assert.ok(Math.abs(Date.parse(stale.asOf) - sinceMs) < 5_000, stale.asOf);
    const warning = `the metadata store does not answer: this is the progress at ${stale.asOf}`;
    assert.equal(stale.warnings[0], warning);
    await untilWarned(session, /^metadata store: trying again for \d+ s: /);
    const later = await session.progress();
    assert.deepEqual([later.asOf, later.warnings[0]], [stale.asOf, warning]);
    await setFailPoint('destination', { mode: 'off' });
    await until('it is the latest', async () => (await session.progress()).asOf === null);
    await untilQuiet(session);
  });

  it('says that the metadata store has not completed a write', async () => {
    await using session = await start();
    await session.post('check');
    const data = {
      failCommands: ['update'],
      namespace: `${verifierDatabase}.processes`,
      blockConnection: true,
      blockTimeMS: 20_000,
    };
    await setFailPoint('destination', { mode: 'alwaysOn', data });
    await untilWarned(
      session,
      /^metadata store: waiting for \d+ s: it has not completed an operation$/,
    );
    assert.equal((await session.progress()).asOf, null);
    await setFailPoint('destination', { mode: 'off' });
    await untilQuiet(session);
    await session.post('writesOff');
    assert.equal((await session.untilComplete()).verdict, 'equal');
  });

  it('names the change stream that cannot be read, until it can', async () => {
    await using session = await start();
    await session.post('check');
    await until('changes are read', async () => (await session.progress()).lastPass !== null);
    const failCommands = ['aggregate', 'getMore'];
    const data = { failCommands, errorCode: 91, appName: 'clustersync verifier' };
    await setFailPoint('source', { mode: 'alwaysOn', data });
    await untilWarned(session, /^change stream of the source: trying again for \d+ s: /);
    await setFailPoint('source', { mode: 'off' });
    await untilQuiet(session);
    await session.post('writesOff');
    assert.equal((await session.untilComplete()).verdict, 'equal');
  });
});
