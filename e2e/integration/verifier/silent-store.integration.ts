import assert from 'node:assert/strict';
import { verifierDatabase } from '../../../mongo/namespace.ts';
import { until } from '../../ground/until.ts';
import { useReplicaSetPair } from './replica-set-pair.ts';
import { openSession } from './verifier-session.ts';

describe('verifier, the progress while its metadata store does not answer', () => {
  const pair = useReplicaSetPair({ parameters: { enableTestCommands: 1 } });

  async function setFailPoint(fields: object): Promise<void> {
    const [, client] = pair.clients;
    await client?.db('admin').command({ configureFailPoint: 'failCommand', ...fields });
  }

  afterEach(async () => {
    await setFailPoint({ mode: 'off' });
  });

  it('says since when it is not the latest, until it is again', async () => {
    for (const db of [pair.source, pair.destination]) await db.collection('items').insertOne({});
    const [srcURI = '', destURI = ''] = pair.sets.map((set) => set.uri('syncer'));
    await using session = await openSession({ srcURI, destURI });
    await session.post('check');
    const before = await session.progress();
    assert.deepEqual([before.asOf, before.warnings], [null, []]);
    const sinceMs = Date.now();
    await setFailPoint({
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
    assert.deepEqual(stale.warnings, [warning]);
    const later = await session.progress();
    assert.deepEqual([later.asOf, later.warnings], [stale.asOf, [warning]]);
    await setFailPoint({ mode: 'off' });
    await until('it is the latest', async () => (await session.progress()).asOf === null);
    assert.deepEqual((await session.progress()).warnings, []);
  });
});
