import assert from 'node:assert/strict';
import type { Document } from 'mongodb';
import { until } from '../../ground/until.ts';
import { useReplicaSetPair } from './replica-set-pair.ts';
import { openSession, type Progress, type VerifierSession } from './verifier-session.ts';

interface Row {
  readonly _id: number;
  readonly number: number;
}

describe('a metadata store that fails now and then', () => {
  const pair = useReplicaSetPair({ parameters: { enableTestCommands: 1 } });

  before(async () => {
    for (const [index, db] of [pair.source, pair.destination].entries()) {
      for (let number = 0; number < 40; number++) {
        const rows = Array.from({ length: 20 }, (_, _id) => ({ _id, number }));
        // One of them is missing on the destination.
        await db
          .collection<Row>(`c${number}`)
          .insertMany(rows.slice(0, number === 7 ? 20 - index : 20));
      }
    }
  });

  const cases: readonly (readonly [what: string, data: Document])[] = [
    [
      'has done what was asked, and does not say so',
      {
        failCommands: ['insert', 'update', 'delete', 'findAndModify'],
        writeConcernError: { code: 91, codeName: 'ShutdownInProgress', errmsg: 'shutting down' },
      },
    ],
    [
      'closes the connection in place of an answer',
      {
        failCommands: ['insert', 'update', 'delete', 'findAndModify', 'find', 'aggregate'],
        closeConnection: true,
      },
    ],
  ];
  for (const [what, data] of cases) {
    it(`is borne with where it ${what}`, async () => {
      const admin = pair.clients[1]?.db('admin');
      assert.ok(admin);
      const [srcURI = '', destURI = ''] = pair.sets.map((set) => set.uri('syncer'));
      await using session = await openSession({ srcURI, destURI });
      await session.post('check');
      await admin.command({
        configureFailPoint: 'failCommand',
        mode: { activationProbability: 0.1 },
        data: { ...data, appName: 'clustersync verifier' },
      });
      try {
        await until('writes are off', async () => {
          await session.post('writesOff');
          return (await progressOf(session))?.writesOff === true;
        });
        let last: Progress | undefined;
        await until(
          'the verification is complete',
          async () => {
            last = await progressOf(session);
            assert.equal(last?.error ?? null, null);
            return last?.phase === 'idle' && last.verdict !== null;
          },
          120_000,
        );
        assert.deepEqual(
          last?.mismatches.map(({ kind, namespace, id }) => [kind, namespace, id]),
          [['missingDocument', 'shop.c7', '{"$numberInt":"19"}']],
        );
      } finally {
        await admin.command({ configureFailPoint: 'failCommand', mode: 'off' });
      }
    });
  }
});

/** Undefined where the metadata store has not answered within the time that a request has: so many failures may outlast it. */
async function progressOf(session: VerifierSession): Promise<Progress | undefined> {
  const { status, body } = await session.get('/api/v1/progress');
  if (status === 503) {
    assert.match(String(body['error']), /^ClusterUnreachable: the metadata store/);
    return undefined;
  }
  assert.equal(status, 200, JSON.stringify(body));
  return (body as unknown as { readonly progress: Progress }).progress;
}
