import assert from 'node:assert/strict';
import { testPassword } from '../../ground/mongod/users.ts';
import { until } from '../../ground/until.ts';
import { useReplicaSetPair } from './replica-set-pair.ts';
import { openSession, verifyOnce, type VerifierSession } from './verifier-session.ts';

describe('verifier API', function () {
  const pair = useReplicaSetPair();
  let srcURI = '';
  let destURI = '';
  /** The source, for users who may read one database of the applications, or none. */
  const asUser = (name: 'poor' | 'poorest'): string =>
    `mongodb://${name}:${name}@${String(pair.sets[0]?.members[0]?.address)}/?replicaSet=rs0`;

  before(async () => {
    [srcURI, destURI] = pair.sets.map((set) => set.uri('syncer')) as [string, string];
    for (const db of [pair.source, pair.destination]) {
      await db.collection('items').insertOne(row(1));
    }
    const shop = { role: 'read', db: 'shop' };
    const users = { poor: [shop, { role: 'read', db: 'admin' }], poorest: [shop] };
    const mechanisms = ['SCRAM-SHA-256'];
    for (const [createUser, roles] of Object.entries(users))
      await pair.clients[0]
        ?.db('admin')
        .command({ createUser, pwd: createUser, roles, mechanisms });
  });

  it('answers progress in idle before check, without a verdict', async () => {
    await using session = await openSession({ srcURI, destURI });
    const { status, body } = await session.get('/api/v1/progress');
    assert.equal(status, 200);
    assert.deepEqual(body, {
      progress: {
        phase: 'idle',
        error: null,
        verificationStatus: {
          totalTasks: 0,
          addedTasks: 0,
          processingTasks: 0,
          failedTasks: 0,
          completedTasks: 0,
          metadataMismatchTasks: 0,
          recheckTasks: 0,
        },
        verdict: null,
        proof: null,
        writesOff: false,
        generation: 0,
        generationKind: null,
        srcLastRecheckedTS: null,
        dstLastRecheckedTS: null,
        mismatchCount: 0,
        lastPass: null,
        mismatchKinds: [],
        mismatchNamespaces: [],
        mismatches: [],
        documentsCompared: 0,
        bytesCompared: 0,
        generationStats: {
          documentsCompared: 0,
          documentsTotal: 0,
          bytesCompared: 0,
          bytesTotal: 0,
          documentsPerSecond: 0,
          bytesPerSecond: 0,
          secondsLeft: null,
        },
        processes: ['verifier'],
        startedAt: null,
        completedAt: null,
        asOf: null,
        warnings: [],
      },
    });
  });

  it('goes from check to recheck to idle, with failedTasks 0 for equal sides', async () => {
    await using session = await openSession({ srcURI, destURI });
    assert.deepEqual(await session.post('check'), { status: 200, body: { success: true } });
    assert.notEqual((await session.progress()).phase, 'idle');
    await until('the first pass is over', async () => {
      const { verificationStatus: status } = await session.progress();
      return status.completedTasks === 2 && status.totalTasks === 2;
    });
    assert.equal((await session.progress()).verdict, null);
    assert.deepEqual((await session.post('writesOff')).body, { success: true });
    const progress = await session.untilComplete();
    assert.equal(progress.phase, 'idle');
    assert.equal(progress.verdict, 'equal');
    assert.equal(progress.error, null);
    assert.equal(progress.verificationStatus.failedTasks, 0);
    assert.equal(progress.generation > 0, true);
  });

  it('takes check again without harm: while it runs, and when it is complete', async () => {
    await using session = await openSession({ srcURI, destURI });
    for (let time = 0; time < 3; time++) {
      assert.deepEqual(await session.post('check'), { status: 200, body: { success: true } });
    }
    await session.post('writesOff');
    const complete = await session.untilComplete();
    assert.deepEqual(await session.post('check'), { status: 200, body: { success: true } });
    const { lastPass, ...again } = await session.progress();
    const { lastPass: before, ...rest } = complete;
    assert.deepEqual(again, rest);
    // It grows with time.
    const ageSeconds = lastPass?.ageSeconds;
    assert.ok((ageSeconds ?? -1) >= (before?.ageSeconds ?? Infinity));
    assert.deepEqual(lastPass, { ...before, ageSeconds });
  });

  it('answers the second writesOff by an error alone', async () => {
    await using session = await openSession({ srcURI, destURI });
    assert.deepEqual(await session.post('writesOff'), { status: 200, body: { success: true } });
    assert.deepEqual(await session.post('writesOff'), {
      status: 200,
      body: { error: 'writesOff already set' },
    });
  });

  it('takes writesOff before check', async () => {
    await using session = await openSession({ srcURI, destURI });
    await session.post('writesOff');
    assert.equal((await session.progress()).phase, 'idle');
    await session.post('check');
    assert.equal((await session.untilComplete()).verdict, 'equal');
  });

  it('refuses bodies other than {} by name', async () => {
    await using session = await openSession({ srcURI, destURI });
    for (const command of ['check', 'writesOff']) {
      const { status, body } = await session.post(command, { filter: {} });
      assert.equal(status, 400);
      assert.equal(body['success'], false);
      assert.equal(body['error'], 'InvalidBody');
      assert.match(String(body['errorDescription']), /"filter"/);
    }
    assert.equal((await session.post('check', [])).body['error'], 'InvalidJSON');
    assert.equal((await session.get('/api/v1/check')).body['error'], 'MethodNotAllowed');
    assert.equal((await session.progress()).phase, 'idle');
  });

  it('names a wrong password in progress, stays alive, and tells nobody the password', async () => {
    const wrong = destURI.replace(encodeURIComponent(testPassword), 'not-the-password');
    await using session = await openSession({ srcURI, destURI: wrong });
    await until('progress carries the error', async () => {
      return (await session.get('/api/v1/progress')).status !== 200;
    });
    const { body } = await session.get('/api/v1/progress');
    assert.deepEqual(Object.keys(body), ['error']);
    assert.match(String(body['error']), /^AuthenticationFailed: /);
    assert.equal((await session.post('check')).body['error'], 'AuthenticationFailed');
    assert.doesNotMatch(session.log.join(), /not-the-password|p%40ss/);
  });

  it('does not begin for a user who may not ask which deployment it is, and says why', async () => {
    await using session = await openSession({ srcURI: asUser('poorest'), destURI });
    await until('progress carries the error', async () => {
      return (await session.get('/api/v1/progress')).status !== 200;
    });
    const { status, body } = await session.get('/api/v1/progress');
    assert.equal(status, 409);
    assert.deepEqual(Object.keys(body), ['error']);
    assert.match(String(body['error']), /^MissingPrivileges: .*system\.version/);
    assert.equal((await session.post('check')).body['error'], 'MissingPrivileges');
  });

  it('gives no verdict to a user who may read one database alone, and says why', async () => {
    await using session = await openSession({ srcURI: asUser('poor'), destURI });
    await session.post('check');
    await session.post('writesOff');
    await until('progress carries the error', async () => {
      return (await session.progress()).error !== null;
    });
    const { error, phase, verdict } = await session.progress();
    assert.match(String(error), /^MissingPrivileges: /);
    assert.notEqual(phase, 'idle');
    assert.equal(verdict, null);
  });

  it('refuses a check whose filter selects nothing, and takes the next one when it does', async () => {
    const includeNamespaces = '[{"database": "depot"}]';
    const options = { srcURI, destURI, verifyAll: false, includeNamespaces };
    await using session = await openSession(options);
    await assertNothingToCompare(session, /neither side/);
    const [, destination] = pair.clients;
    await destination?.db('depot').collection('a').insertOne({});
    assert.equal((await session.post('check')).status, 200);
    await session.post('writesOff');
    const { verdict, mismatches } = await session.untilComplete();
    assert.equal(verdict, 'different');
    assert.deepEqual(
      mismatches.map(({ kind, namespace }) => `${kind} ${namespace}`),
      ['extraNamespace depot.a'],
    );
    await destination?.db('depot').dropDatabase();
  });

  it('lets another one take the place of a verification that failed before it had begun', async () => {
    {
      await using session = await openSession({ srcURI: asUser('poor'), destURI });
      await session.post('check');
      await until('it has failed', async () => (await session.progress()).error !== null);
    }
    await using session = await openSession({
      srcURI,
      destURI,
      clean: false,
      verifyAll: false,
      includeNamespaces: '[{"database": "shop"}]',
    });
    assert.equal((await session.post('check')).status, 200);
    await session.post('writesOff');
    const { verdict, documentsCompared } = await session.untilComplete();
    assert.deepEqual({ verdict, documentsCompared }, { verdict: 'equal', documentsCompared: 1 });
  });

  it('can be used by users who may read, and write the metadata store', async () => {
    for (const client of pair.clients) {
      const store = { role: 'readWrite', db: 'clustersync_verifier' };
      const roles = ['readAnyDatabase', store];
      const mechanisms = ['SCRAM-SHA-256'];
      await client.db('admin').command({ createUser: 'reader', pwd: 'reader', roles, mechanisms });
    }
    const [from, to] = pair.sets.map(
      ({ members }) => `mongodb://reader:reader@${String(members[0]?.address)}/?replicaSet=rs0`,
    );
    const { progress } = await verifyOnce({ srcURI: from ?? '', destURI: to ?? '' });
    assert.equal(progress.verdict, 'equal');
  });

  context('without --verifyAll', () => {
    it('refuses a check when no sync is recorded on the destination, and takes the next one', async () => {
      {
        await using session = await openSession({ srcURI, destURI, verifyAll: false });
        await assertNothingToCompare(session, /--verifyAll/);
      }
      await using session = await openSession({ srcURI, destURI, clean: false });
      assert.equal((await session.post('check')).status, 200);
      await session.post('writesOff');
      const { verdict, documentsCompared } = await session.untilComplete();
      assert.deepEqual({ verdict, documentsCompared }, { verdict: 'equal', documentsCompared: 1 });
    });

    it("compares what the sync's filter selects, and no index that the sync left out", async () => {
      const [source, destination] = pair.clients;
      assert.ok(source && destination);
      await destination
        .db('clustersync_internal')
        .collection<{ _id: string }>('sync')
        .insertOne({
          _id: 'sync',
          options: {
            includeNamespaces: [{ database: 'shop', collections: ['items', 'b'] }],
            excludeNamespaces: [{ database: 'shop', collectionsRegex: { pattern: '^b' } }],
            buildIndexes: 'never',
          },
        } as { _id: string });
      await pair.source.collection('b').insertOne({});
      await source.db('other').collection('a').insertOne({});
      await pair.source.collection('items').createIndexes([{ key: { n: 1 }, name: 'n' }]);
      const { progress } = await verifyOnce({ srcURI, destURI, verifyAll: false });
      assert.deepEqual(progress.mismatches, []);
      await pair.source.collection('items').insertOne(row(2));
      const second = await verifyOnce({ srcURI, destURI, verifyAll: false });
      assert.deepEqual(
        second.progress.mismatches.map(({ kind, namespace }) => ({ kind, namespace })),
        [{ kind: 'missingDocument', namespace: 'shop.items' }],
      );
      const all = await verifyOnce({ srcURI, destURI });
      assert.deepEqual(
        all.progress.mismatches.map(({ kind, namespace }) => `${kind} ${namespace}`).sort(),
        ['missingDocument shop.items', 'missingNamespace other.a', 'missingNamespace shop.b'],
      );
    });
  });

  it('serves health and metrics', async () => {
    await using session = await openSession({ srcURI, destURI });
    const fetched = await session.text('/metrics');
    assert.match(fetched, /^clustersync_verifier_generation 0$/m);
    assert.equal(await session.text('/healthz'), 'ok\n');
    await until('it is ready', async () => (await session.text('/readyz')) === 'ok\n');
  });

  it('takes no connection string that asks for weaker concerns', async () => {
    await assert.rejects(openSession({ srcURI: `${srcURI}&w=1`, destURI }), {
      name: 'InvalidOption',
    });
  });
});

/** A check is refused by name, and nothing of it is stored. */
async function assertNothingToCompare(session: VerifierSession, why: RegExp): Promise<void> {
  const { status, body } = await session.post('check');
  assert.deepEqual({ status, error: body['error'] }, { status: 409, error: 'NothingToCompare' });
  assert.match(String(body['errorDescription']), why);
  const { phase, error, startedAt } = await session.progress();
  assert.deepEqual({ phase, error, startedAt }, { phase: 'idle', error: null, startedAt: null });
}

function row(_id: number): { _id: never; name: string } {
  return { _id: _id as never, name: 'lamp' };
}
