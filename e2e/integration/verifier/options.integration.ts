import assert from 'node:assert/strict';
import { MongoClient } from 'mongodb';
import type { VerifierOptions } from '../../../verifier/options.ts';
import { startReplicaSet, type ReplicaSet } from '../../ground/mongod/replica-set.ts';
import { until } from '../../ground/until.ts';
import { openSession, verifyOnce } from './verifier-session.ts';

interface Row {
  readonly _id: number;
  readonly text?: string;
}

describe('options of the verifier', () => {
  /** The source, of three members, and the destination. */
  let sets: readonly ReplicaSet[] = [];
  let clients: readonly MongoClient[] = [];
  let uris: Pick<VerifierOptions, 'srcURI' | 'destURI'>;

  before(async () => {
    sets = await Promise.all([
      startReplicaSet({ members: 3, syncerRoles: 'source' }),
      startReplicaSet({ members: 1, syncerRoles: 'destination' }),
    ]);
    clients = sets.map((set) => new MongoClient(set.uri('admin', { w: 'majority' })));
    const [srcURI = '', destURI = ''] = sets.map((set) => set.uri('syncer'));
    uris = { srcURI, destURI };
    for (const client of clients) {
      const rows = Array.from({ length: 1000 }, (_, _id) => ({ _id, text: 'x'.repeat(2000) }));
      await client.db('shop').collection<Row>('many').insertMany(rows);
    }
    const [source] = clients;
    for (const [db, coll] of [
      ['shop', 'orders'],
      ['shop', 'order-log'],
      ['depot', 'orders'],
    ] as const) {
      await source?.db(db).collection<Row>(coll).insertOne({ _id: 1 });
    }
  });

  after(async () => {
    for (const client of clients) await client.close();
    for (const set of sets) await set.stop();
  });

  describe('that select namespaces', () => {
    const all = ['depot.orders', 'shop.order-log', 'shop.orders'];
    const cases: readonly (readonly [
      what: string,
      options: Partial<Record<'includeNamespaces' | 'excludeNamespaces', readonly object[]>>,
      missing: readonly string[],
    ])[] = [
      ['a database', { includeNamespaces: [{ database: 'shop' }] }, all.slice(1)],
      [
        'collections',
        { includeNamespaces: [{ database: 'shop', collections: ['orders', 'many'] }] },
        ['shop.orders'],
      ],
      [
        'databases and collections by patterns',
        {
          includeNamespaces: [
            {
              databaseRegex: { pattern: '^SHOP$', options: 'i' },
              collectionsRegex: { pattern: '-log$' },
            },
          ],
        },
        ['shop.order-log'],
      ],
      ['all but some', { excludeNamespaces: [{ database: 'shop' }] }, ['depot.orders']],
      [
        'some of those included',
        {
          includeNamespaces: [{ databaseRegex: { pattern: '.' } }],
          excludeNamespaces: [{ databaseRegex: { pattern: '^s' }, collections: ['orders'] }],
        },
        ['depot.orders', 'shop.order-log'],
      ],
    ];
    for (const [what, given, missing] of cases) {
      it(`compares ${what}`, async () => {
        const options = Object.fromEntries(
          Object.entries(given).map(([name, value]) => [name, JSON.stringify(value)]),
        );
        const { progress } = await verifyOnce({ ...uris, verifyAll: false, ...options });
        assert.deepEqual(
          progress.mismatches.map(({ kind, namespace }) => [kind, namespace]),
          missing.map((namespace) => ['missingNamespace', namespace]),
        );
        assert.deepEqual(
          progress.mismatchNamespaces,
          missing.map((namespace) => ({ namespace, count: 1 })),
        );
      });
    }

    it('compares everything with --verifyAll, whatever a sync has selected', async () => {
      const sync = clients[1]?.db('clustersync_internal').collection<{ _id: string }>('sync');
      const options = { includeNamespaces: [{ database: 'shop', collections: ['many'] }] };
      await sync?.insertOne({ _id: 'sync', options } as { _id: string });
      const found = async (verifyAll: boolean): Promise<string[]> => {
        const { progress } = await verifyOnce({ ...uris, verifyAll });
        assert.equal(progress.documentsCompared, 1000);
        return progress.mismatches.map(({ namespace }) => namespace);
      };
      assert.deepEqual(await found(true), all);
      assert.deepEqual(await found(false), []);
      await sync?.deleteOne({ _id: 'sync' });
    });

    const refusals: readonly (readonly [Partial<VerifierOptions>, RegExp])[] = [
      [{ verifyAll: true, includeNamespaces: '[{"database": "a"}]' }, /mutually exclusive/],
      [{ includeNamespaces: 'shop' }, /--includeNamespaces: /],
      [{ includeNamespaces: '[]' }, /--includeNamespaces: expected an array of entries/],
      [{ excludeNamespaces: '[{"collections": ["a"]}]' }, /either database or databaseRegex/],
      [{ excludeNamespaces: '[{"db": "a"}]' }, /--excludeNamespaces: an entry has no field "db"/],
    ];
    for (const [options, message] of refusals) {
      it(`refuses ${JSON.stringify(options)}`, async () => {
        const opening = openSession({ ...uris, verifyAll: false, ...options });
        await assert.rejects(opening, { name: 'InvalidOption', message });
      });
    }
  });

  it('says that no member can be read as --readPreference asks, and reads no other', async () => {
    // The destination has only a primary.
    await using session = await openSession({ ...uris, readPreference: 'secondary' });
    await session.post('check');
    const text = 'no member can be read with the read preference secondary: use another one';
    await until('it says so', async () => {
      const { warnings } = await session.progress();
      return warnings.some((warning) => warning.includes(text));
    });
    const { documentsCompared, verdict } = await session.progress();
    assert.deepEqual([documentsCompared, verdict], [0, null]);
  });

  for (const [comparison, command] of [
    ['bytes', { 'command.find': 'many' }],
    ['hashes', { 'command.aggregate': 'many', 'command.allowDiskUse': true }],
  ] as const) {
    it(`reads documents from the members that --readPreference names, by ${comparison}`, async () => {
      const [source] = sets;
      assert.ok(source);
      const primary = await source.primary();
      const members = source.members.map((member) => ({
        role: member === primary ? ('primary' as const) : ('secondaries' as const),
        client: new MongoClient(source.directUri('admin', member)),
      }));
      const profile = async (level: number): Promise<void> => {
        for (const { client } of members) await client.db('shop').command({ profile: level });
      };
      /** How often the documents have been asked for, of the primary and of the others. */
      const count = async (): Promise<Record<'primary' | 'secondaries', number>> => {
        const sums = { primary: 0, secondaries: 0 };
        const ofVerifier = { ...command, appName: 'clustersync verifier' };
        for (const { client, role } of members) {
          const seen = client.db('shop').collection('system.profile');
          sums[role] += await seen.countDocuments(ofVerifier);
        }
        return sums;
      };
      try {
        await profile(2);
        await verifyOnce({ ...uris, comparison });
        const before = await count();
        await verifyOnce({ ...uris, comparison, readPreference: 'secondaryPreferred' });
        const after = await count();
        await profile(0);
        assert.ok(before.primary > 0);
        assert.equal(before.secondaries, 0);
        assert.equal(after.primary, before.primary);
        assert.ok(after.secondaries > 0);
        const fresh = { ...command, 'command.$readPreference.maxStalenessSeconds': 90 };
        const asked = members.filter(({ role }) => role === 'secondaries');
        const counts = asked.map(
          async ({ client }) =>
            await client.db('shop').collection('system.profile').countDocuments(fresh),
        );
        const asFresh = (await Promise.all(counts)).reduce((sum, one) => sum + one, 0);
        assert.ok(asFresh > 0, 'none that is far behind is chosen');
      } finally {
        for (const { client } of members) await client.close();
      }
    });

    it(`reads no more in a second than --maxBytesPerSecond, by ${comparison}`, async () => {
      const maxBytesPerSecond = 2_500_000;
      await using session = await openSession({
        ...uris,
        comparison,
        maxBytesPerSecond,
        partitionMebibytes: 0.1,
        includeNamespaces: '[{"database": "shop", "collections": ["many"]}]',
        verifyAll: false,
      });
      await session.post('writesOff');
      const startMs = performance.now();
      await session.post('check');
      const { verdict, bytesCompared } = await session.untilComplete();
      const seconds = (performance.now() - startMs) / 1000;
      assert.equal(verdict, 'equal');
      // The other side has been read, too.
      const ratio = (2 * bytesCompared) / seconds / maxBytesPerSecond;
      assert.ok(bytesCompared > 2_000_000, `${bytesCompared} bytes`);
      assert.ok(ratio <= 1.02, `${ratio.toFixed(3)} of the limit`);
    });
  }

  describe('--attempt', () => {
    const verification = 'attempts';

    async function verdictOf(attempt: number): Promise<string | null> {
      const { progress } = await verifyOnce({ ...uris, verification, attempt, clean: false });
      return progress.verdict;
    }

    it('starts over if it is higher than the recorded one, and only then', async () => {
      assert.equal(await verdictOf(1), 'different');
      const [source] = clients;
      for (const name of ['depot', 'shop']) {
        await source?.db(name).dropCollection('orders');
      }
      await source?.db('shop').dropCollection('order-log');
      // A verdict stays on record.
      await using same = await openSession({ ...uris, verification, attempt: 1, clean: false });
      assert.equal((await same.untilComplete()).verdict, 'different');

      const options = { includeNamespaces: '[{"database": "shop"}]', verifyAll: false };
      const later = { ...uris, verification, attempt: 2, clean: false, ...options };
      await using next = await openSession(later);
      await until('the former process knows', async () => {
        return (await same.get('/api/v1/progress')).status !== 200;
      });
      const { body } = await same.get('/api/v1/progress');
      assert.match(String(body['error']), /^SupersededByOtherInstance: .*attempt 2/);
      assert.equal((await same.post('check')).body['error'], 'SupersededByOtherInstance');
      assert.equal((await next.progress()).verdict, null);
      await next.post('check');
      await next.post('writesOff');
      assert.equal((await next.untilComplete()).verdict, 'equal');

      await using former = await openSession({ ...uris, verification, attempt: 1, clean: false });
      await until('it is refused', async () => {
        return (await former.get('/api/v1/progress')).status !== 200;
      });
      assert.equal((await next.progress()).verdict, 'equal');
    });
  });
});
