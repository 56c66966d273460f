import assert from 'node:assert/strict';
import type { VerifierOptions } from '../../../verifier/options.ts';
import { until } from '../../ground/until.ts';
import { useReplicaSetPair } from './replica-set-pair.ts';
import { openSession, type VerifierSession } from './verifier-session.ts';

interface Row {
  readonly _id: number;
}

describe('a verification is taken up by its own processes alone', () => {
  const pair = useReplicaSetPair();
  let uris: Pick<VerifierOptions, 'srcURI' | 'destURI'>;
  const shop = { verifyAll: false, includeNamespaces: '[{"database": "shop"}]' };
  const depot = { verifyAll: false, includeNamespaces: '[{"database": "depot"}]' };

  before(async () => {
    const [srcURI = '', destURI = ''] = pair.sets.map((set) => set.uri('syncer'));
    uris = { srcURI, destURI };
    for (const client of pair.clients) {
      const rows = Array.from({ length: 20 }, (_, _id) => ({ _id }));
      await client.db('shop').collection<Row>('items').insertMany(rows);
    }
    // What a verification of shop alone does not see.
    await pair.clients[0]?.db('depot').collection<Row>('items').insertOne({ _id: 1 });
  });

  async function open(
    verification: string,
    options: Partial<VerifierOptions>,
  ): Promise<VerifierSession> {
    return await openSession({ ...uris, verification, clean: false, ...options });
  }

  /** Waits until progress is an error, of which it is one field or all. */
  async function errorOf(session: VerifierSession): Promise<string> {
    let error: unknown = null;
    await until('progress carries an error', async () => {
      const { body } = await session.get('/api/v1/progress');
      const { progress } = body as { readonly progress?: { readonly error: unknown } };
      error = progress ? progress.error : body['error'];
      return error !== null;
    });
    return String(error);
  }

  it('one of other namespaces or clusters is refused, and the verdict is not its own', async () => {
    const verification = 'complete';
    {
      await using first = await open(verification, shop);
      await first.post('check');
      await first.post('writesOff');
      const { verdict, documentsCompared } = await first.untilComplete();
      assert.deepEqual({ verdict, documentsCompared }, { verdict: 'equal', documentsCompared: 20 });
    }
    const others: Partial<VerifierOptions>[] = [
      depot,
      { verifyAll: true },
      { verifyAll: false },
      { ...shop, excludeNamespaces: '[{"database": "shop", "collections": ["items"]}]' },
      { ...shop, srcURI: uris.destURI, destURI: uris.srcURI, metaURI: uris.destURI },
    ];
    for (const other of others) {
      await using session = await open(verification, other);
      assert.match(
        await errorOf(session),
        /^CheckFailed: .*of other clusters or namespaces.*--clean.*--attempt/,
      );
      assert.equal((await session.post('check')).body['error'], 'CheckFailed');
    }
    await using same = await open(verification, shop);
    assert.equal((await same.progress()).verdict, 'equal');
  });

  it('one that has not begun yields to another scope: its processes say so, and hand on nothing', async () => {
    const verification = 'idle';
    await using first = await open(verification, shop);
    assert.deepEqual((await first.post('writesOff')).body, { success: true });
    await using second = await open(verification, depot);
    const { body } = await first.post('check');
    assert.equal(body['error'], 'SupersededByOtherInstance', JSON.stringify(body));
    assert.match(String(body['errorDescription']), /other clusters or namespaces/);
    assert.match(await errorOf(first), /^SupersededByOtherInstance: /);
    assert.equal((await second.progress()).phase, 'idle');
    // That writes were off was said of the other one.
    assert.deepEqual((await second.post('writesOff')).body, { success: true });
    assert.deepEqual((await second.post('check')).body, { success: true });
    const { verdict, mismatches } = await second.untilComplete();
    assert.equal(verdict, 'different');
    assert.deepEqual(
      mismatches.map(({ namespace }) => namespace),
      ['depot.items'],
    );
  });

  it('what another sync selects is not what was verified: no verdict, also after a restart', async () => {
    const sync = pair.clients[1]?.db('clustersync_internal').collection<{ _id: string }>('sync');
    assert.ok(sync);
    const record = async (options: object): Promise<void> => {
      await sync.replaceOne({ _id: 'sync' }, { options }, { upsert: true });
    };
    const verification = 'followed';
    await record({ includeNamespaces: [{ database: 'shop' }], buildIndexes: 'beforeDataCopy' });
    {
      await using session = await open(verification, { verifyAll: false });
      await session.post('check');
      await until(
        'all is compared',
        async () => (await session.progress()).documentsCompared === 20,
      );
      await record({ buildIndexes: 'beforeDataCopy' });
      await session.post('writesOff');
      assert.match(
        await errorOf(session),
        /^CheckFailed: .*another sync.*selects other namespaces/,
      );
      assert.equal((await session.progress()).verdict, null);
    }
    await using later = await open(verification, { verifyAll: false });
    await later.post('check');
    assert.match(await errorOf(later), /^CheckFailed: .*another sync.*selects other namespaces/);
    assert.equal((await later.progress()).verdict, null);
    // With the state of the former sync it comes to its end.
    await record({ includeNamespaces: [{ database: 'shop' }], buildIndexes: 'beforeDataCopy' });
    await later.post('check');
    assert.equal((await later.untilComplete()).verdict, 'equal');
  });

  describe('of a sync that is another one by now', () => {
    const former = {
      options: { includeNamespaces: [{ database: 'shop' }], buildIndexes: 'beforeDataCopy' },
      startedAt: new Date('2026-01-01T00:00:00Z'),
      reversals: 0,
    };
    const others: Readonly<Record<string, object>> = {
      'another filter': { options: { ...former.options, includeNamespaces: null } },
      'other exclusions': {
        options: {
          ...former.options,
          excludeNamespaces: [{ database: 'shop', collections: ['a'] }],
        },
      },
      'fewer indexes': { options: { ...former.options, buildIndexes: 'never' } },
      'another start': { startedAt: new Date('2026-01-02T00:00:00Z') },
      'a reversal': { reversals: 2 },
    };

    async function record(sync: object): Promise<void> {
      const syncs = pair.clients[1]?.db('clustersync_internal').collection<{ _id: string }>('sync');
      await syncs?.replaceOne({ _id: 'sync' }, sync, { upsert: true });
    }

    for (const scope of [{}, { includeNamespaces: shop.includeNamespaces }]) {
      const whose = scope.includeNamespaces === undefined ? 'of the sync' : 'of its own';
      it(`no check is taken for one that is complete, with the filter ${whose}`, async () => {
        const verification = `complete ${whose}`;
        const options = { verifyAll: false, ...scope };
        await record(former);
        await using session = await open(verification, options);
        await session.post('check');
        await session.post('writesOff');
        assert.equal((await session.untilComplete()).verdict, 'equal');
        for (const [what, other] of Object.entries(others)) {
          // A filter of its own takes the place of that of the sync.
          const isSame = scope.includeNamespaces !== undefined && /filter|exclu/.test(what);
          await record({ ...former, ...other });
          await using later = await open(verification, options);
          for (const each of [later, session]) {
            const { body } = await each.post('check');
            assert.equal(body['error'], isSame ? undefined : 'CheckFailed', what);
            if (!isSame) assert.match(String(body['errorDescription']), /another sync.*--clean/);
          }
        }
        await record(former);
        assert.deepEqual((await session.post('check')).body, { success: true });
        // What was verified stays what it was where the state of the sync is dropped.
        await pair.clients[1]?.db('clustersync_internal').dropDatabase();
        assert.deepEqual((await session.post('check')).body, { success: true });
        assert.equal((await session.progress()).verdict, 'equal');
      });
    }

    it('there is no verdict on one that is under way', async () => {
      for (const what of ['another start', 'a reversal']) {
        await record(former);
        await using session = await open(what, { verifyAll: false });
        await session.post('check');
        await until(
          'all is compared',
          async () => (await session.progress()).documentsCompared === 20,
        );
        await record({ ...former, ...others[what] });
        await session.post('writesOff');
        assert.match(await errorOf(session), /^CheckFailed: .*another sync/);
        assert.equal((await session.progress()).verdict, null);
      }
    });
  });
});
