import assert from 'node:assert/strict';
import {
  BSON,
  Double,
  Int32,
  Long,
  type Collection,
  type Db,
  type Document,
  type Filter,
  type MongoClient,
} from 'mongodb';
import type { NamespacePage } from '../../../sync-api/json.ts';
import type { VerifierOptions } from '../../../verifier/options.ts';
import { randomFields } from '../../ground/workload/random-documents.ts';
import { SeededRandom } from '../../ground/workload/seeded-random.ts';
import { catalogFaults } from './catalog-faults.ts';
import { documentFaults } from './document-faults.ts';
import { items, load, type Row } from './faulty-shop.ts';
import { useReplicaSetPair } from './replica-set-pair.ts';
import { openSession, type Progress } from './verifier-session.ts';
import { chosenSeeds, firstSeeds } from '../../ground/workload/chosen-seeds.ts';

type Mismatch = Progress['mismatches'][number];

/** What a verification has found, and which documents it has compared by hashes. */
interface Found {
  readonly progress: Progress;
  readonly mismatches: readonly Mismatch[];
  /** Documents of each side, by namespace. */
  readonly hashed: Readonly<Record<string, number>>;
  readonly log: readonly string[];
}

const { EJSON } = BSON;

/** The faults of documents; some of them are in collections of a special kind. */
const faults = [...documentFaults, ...catalogFaults].filter(({ expected: { kind } }) =>
  /Document$|Order$/.test(kind),
);

/** What hashes do not show of the faults: the same number in another type of the same size. */
const notShown = ['double, which is another', 'decimal, which is another', 'the type of an _id'];

const seeds = chosenSeeds(firstSeeds(3));

describe('verifier, by hashes', () => {
  const pair = useReplicaSetPair({ parameters: { enableTestCommands: 1 } });

  afterEach(async () => {
    for (const client of pair.clients) await dropUserDatabases(client);
  });

  async function verify(options: Partial<VerifierOptions> = {}): Promise<Found> {
    const [srcURI = '', destURI = ''] = pair.sets.map((set) => set.uri('syncer'));
    const uris = { srcURI, destURI };
    await using session = await openSession({ ...uris, comparison: 'hashes', ...options });
    await session.post('check');
    await session.post('writesOff');
    const progress = await session.untilComplete();
    const { mismatches } = (await session.get('/api/v1/mismatches?limit=1000')).body;
    const { body } = await session.get('/api/v1/namespaces?limit=1000');
    const { namespaces } = body as unknown as NamespacePage;
    return {
      progress,
      log: session.log,
      mismatches: mismatches as readonly Mismatch[],
      hashed: Object.fromEntries(
        namespaces.flatMap(({ namespace, coverage }) =>
          coverage ? [[namespace, coverage.documentsHashed]] : [],
        ),
      ),
    };
  }

  async function insertBoth(name: string, rows: readonly Row[]): Promise<void> {
    for (const db of [pair.source, pair.destination])
      await rowsOf(db, name).insertMany(rows, { ordered: false });
  }

  it('finds each fault but those that a hash does not show', async () => {
    assert.ok(faults.length >= 30, String(faults.length));
    const [source, destination] = pair.clients;
    assert.ok(source && destination);
    const nameOf = (index: number): string => `fault${index}`;
    for (const [index, { inject }] of faults.entries()) {
      const copy = destination.db(nameOf(index));
      for (const db of [source.db(nameOf(index)), copy]) await load(db);
      await inject(copy);
    }
    const { mismatches, progress } = await verify();
    assert.equal(mismatches.length, progress.mismatchCount);
    const isFound = (index: number): boolean => {
      const { id, namespace = items, ...rest } = faults[index]?.expected ?? { kind: '' };
      const wanted = {
        ...rest,
        namespace: namespace.replace(/^shop\./, `${nameOf(index)}.`),
        ...(id === undefined ? {} : { id: EJSON.stringify(id, { relaxed: false }) }),
      };
      return mismatches.some((mismatch) =>
        Object.entries(wanted).every(
          ([field, value]) => mismatch[field as keyof Mismatch] === value,
        ),
      );
    };
    const missed = faults.filter((_, index) => !isFound(index)).map(({ name }) => name);
    assert.deepEqual(missed, notShown);
  });

  it('says of how many documents only hashes say that they are equal', async () => {
    await insertBoth('a', rowsUpTo(1000));
    await insertBoth('b', rowsUpTo(10));
    const first = await verify();
    assert.equal(first.progress.verdict, 'equal');
    assert.deepEqual(first.hashed, { 'shop.a': 1000, 'shop.b': 10 });
    assert.equal(first.progress.proof?.documentsHashed, 1010);
    const second = await verify({ comparison: 'bytes' });
    assert.deepEqual(second.hashed, { 'shop.a': 0, 'shop.b': 0 });
    assert.equal(second.progress.proof?.documentsHashed, 0);
    await rowsOf(pair.destination, 'a').updateOne(withId(3), { $set: { value: 'other' } });
    const third = await verify();
    assert.deepEqual(
      third.mismatches.map(({ kind, id, field }) => [kind, id, field]),
      [['differentDocument', '{"$numberInt":"3"}', 'value']],
    );
    // The documents of the same bucket are listed, and equal by their own hashes.
    assert.equal(third.hashed['shop.a'], 999);
  });

  it('finds one changed document in each of ten collections of several ranges', async () => {
    const count = 500;
    const names = Array.from({ length: 10 }, (_, number) => `large${number}`);
    for (const [number, name] of names.entries()) {
      await insertBoth(name, rowsUpTo(count, 'x'.repeat(200)));
      const _id = (number * 7919 + 1) % count;
      await rowsOf(pair.destination, name).updateOne(withId(_id), { $set: { value: 'y' } });
    }
    const { progress, mismatches, hashed } = await verify({ partitionMebibytes: 0.025 });
    assert.ok(progress.verificationStatus.totalTasks > 30);
    assert.equal(progress.documentsCompared, 10 * count);
    assert.deepEqual(
      mismatches.map(({ namespace, kind, id }) => `${namespace} ${kind} ${id}`),
      names.map((name, n) => {
        return `shop.${name} differentDocument {"$numberInt":"${(n * 7919 + 1) % count}"}`;
      }),
    );
    assert.deepEqual(
      Object.values(hashed),
      names.map(() => count - 1),
    );
  });

  it('compares by bytes what a server cannot hash, on whichever side, and the rest by hashes', async () => {
    await insertBoth('small', rowsUpTo(100));
    // Their key strings, with two bytes for each 0, are longer than a document may be.
    const large = { _id: 9, text: '\0'.repeat(9_000_000) };
    await insertBoth('both', [large]);
    await insertBoth('one', rowsUpTo(3));
    await insertBoth('other', rowsUpTo(3));
    await rowsOf(pair.source, 'one').insertOne(large);
    await rowsOf(pair.destination, 'other').insertOne(large);
    const { mismatches, hashed, log } = await verify();
    const told = log.filter((line) => line.includes('comparing by bytes'));
    assert.ok(told.length >= 3);
    assert.doesNotMatch(told.join(), /First element|\\u0000|00ff/, 'no content of a document');
    assert.deepEqual(
      mismatches.map(({ namespace, kind, id }) => [namespace, kind, id]),
      [
        ['shop.one', 'missingDocument', '{"$numberInt":"9"}'],
        ['shop.other', 'extraDocument', '{"$numberInt":"9"}'],
      ],
    );
    assert.deepEqual(hashed, { 'shop.both': 0, 'shop.one': 0, 'shop.other': 0, 'shop.small': 100 });
  });

  it('compares all by bytes once a server does not know the hash, and says so once', async () => {
    for (const name of ['a', 'b', 'c']) await insertBoth(name, rowsUpTo(500, 'x'.repeat(200)));
    const [, destination] = pair.clients;
    assert.ok(destination);
    const failPoint = { configureFailPoint: 'failCommand' };
    const failCommands = ['aggregate'];
    await destination.db('admin').command({
      ...failPoint,
      mode: { times: 1 },
      // What 6.0.5 answers.
      data: { failCommands, errorCode: 168, namespace: 'shop.b', appName: 'clustersync verifier' },
    });
    try {
      const { progress, hashed, log } = await verify({ partitionMebibytes: 0.025, workers: 1 });
      assert.equal(progress.verdict, 'equal');
      assert.equal(log.filter((line) => line.includes('a server cannot hash')).length, 1);
      assert.ok(progress.proof && progress.proof.ranges > 9);
      // One range was to be hashed by both, and failed; those before it were hashed.
      const sum = Object.values(hashed).reduce((all, count) => all + count, 0);
      assert.equal(sum, progress.proof.documentsHashed);
      assert.ok(sum < 1500 && hashed['shop.b'] !== 500, JSON.stringify(hashed));
    } finally {
      await destination.db('admin').command({ ...failPoint, mode: 'off' });
    }
  });

  /** Differences in most buckets, and in so many that listing them is no longer worth it. */
  for (const [what, count, every, outcome] of [
    ['in groups', 50_000, 11, { mismatches: 4546, hashed: 45_454 }],
    ['by bytes', 250_000, 28, { mismatches: 8929, hashed: 0 }],
    [
      'no further than there is room to store',
      50_000,
      4,
      { mismatches: 10_000, hashed: undefined },
    ],
  ] as const)
    it(`compares a range with differences everywhere ${what}`, async () => {
      await insertBoth('many', rowsUpTo(count));
      const { modifiedCount } = await rowsOf(pair.destination, 'many').updateMany(
        { $expr: { $eq: [{ $mod: ['$_id', every] }, 0] } },
        { $set: { value: 'y' } },
      );
      const { progress, hashed } = await verify();
      assert.equal(progress.verdict, 'different');
      const isAll = outcome.hashed !== undefined;
      if (isAll) assert.equal(progress.mismatchCount, modifiedCount);
      assert.ok(progress.mismatchCount >= outcome.mismatches, String(progress.mismatchCount));
      assert.equal(hashed['shop.many'], outcome.hashed);
    });

  it('transfers less than 5 % of what it transfers by bytes, where both sides are equal', async () => {
    for (const name of ['a', 'b']) await insertBoth(name, rowsUpTo(70_000, 'x'.repeat(1000)));
    // Its order is compared, too. MongoDB 6.0 rounds the size up to the next 256 bytes, and 7.0 does not.
    const cappedBytes = 117_188 * 256;
    for (const db of [pair.source, pair.destination])
      await db.createCollection('capped', { capped: true, size: cappedBytes });
    await insertBoth('capped', rowsUpTo(20_000, 'x'.repeat(1000)));
    const [source] = pair.clients;
    assert.ok(source);
    const sentBy = async (comparison: VerifierOptions['comparison']): Promise<number> => {
      const before = await bytesOut(source);
      const { progress } = await verify({ comparison });
      assert.equal(progress.verdict, 'equal');
      assert.ok((progress.proof?.ranges ?? 0) > 2, 'several ranges of the default size');
      assert.equal(progress.proof?.documentsHashed, comparison === 'hashes' ? 160_000 : 0);
      return (await bytesOut(source)) - before;
    };
    const [bytes, hashes] = [await sentBy('bytes'), await sentBy('hashes')];
    assert.ok(bytes > 160_000 * 1000, `${bytes} bytes`);
    assert.ok(hashes < bytes / 20, `${hashes} of ${bytes} bytes`);
  });

  for (const seed of seeds)
    it(`finds what it finds by bytes, seed ${seed}`, async () => {
      const random = new SeededRandom(seed);
      for (const name of ['a', 'b', 'c']) {
        const rows = Array.from({ length: 400 }, (_, n): Row => ({
          _id: distinctId(random, n),
          ...randomFields(random),
          seed,
        }));
        await insertBoth(name, rows);
        const copies = rowsOf(pair.destination, name);
        for (let change = random.below(40); change > 0; change--) {
          const { _id } = random.pick(rows);
          await changeRandomly(random, copies, _id);
        }
      }
      const options = { partitionMebibytes: random.pick([0.01, 0.1, 64]), workers: 3 };
      const byHashes = await verify(options);
      const byBytes = await verify({ ...options, comparison: 'bytes' });
      assert.deepEqual(byHashes.mismatches, byBytes.mismatches);
      assert.equal(byHashes.progress.verdict, byBytes.progress.verdict);
      assert.ok(Object.values(byHashes.hashed).reduce((sum, count) => sum + count, 0) > 1000);
    });
});

function rowsOf(db: Db, name: string): Collection<Row> {
  return db.collection<Row>(name);
}

/** The driver's types know no `_id` of several types. */
function withId(_id: Row['_id']): Filter<Row> {
  return { _id } as Filter<Row>;
}

function rowsUpTo(count: number, value = 'x'): Row[] {
  return Array.from({ length: count }, (_, _id) => ({ _id, value }));
}

/** An `_id` of any of several types. No two are the same number. */
function distinctId(random: SeededRandom, n: number): Row['_id'] {
  return random.pick([
    () => new Int32(n),
    () => new Double(n),
    () => new Double(n + 0.5),
    () => Long.fromNumber(n),
    () => `t${n}`,
    () => ({ n }),
    () => new Date(n),
  ])();
}

/** A change that hashes show: none exchanges only numeric types of the same size. */
async function changeRandomly(
  random: SeededRandom,
  copies: Collection<Row>,
  _id: Row['_id'],
): Promise<void> {
  await random.pick([
    async () => await copies.updateOne(withId(_id), { $set: { more: random.below(100) } }),
    async () => await copies.updateOne(withId(_id), { $set: { seed: `${random.below(9)}` } }),
    async () => await copies.updateOne(withId(_id), { $unset: { seed: 1 } }),
    async () => await copies.updateOne(withId(_id), { $rename: { seed: 'deed' } }),
    async () => await copies.deleteOne(withId(_id)),
    async () => await copies.insertOne({ _id: `more ${random.next()}`, more: 1 }),
    async () => {
      // Another type of the same number, of another size.
      if (!(_id instanceof Int32)) return;
      // The types of other numbers stay: the size of the document tells that of the _id.
      const former = await copies.findOne(withId(_id), { promoteValues: false });
      await copies.deleteOne(withId(_id));
      await copies.insertOne({ ...former, _id: new Double(_id.value) });
    },
  ])();
}

async function bytesOut(client: MongoClient): Promise<number> {
  const { network } = await client.db('admin').command({ serverStatus: 1 });
  return Number((network as Document)['bytesOut']);
}

async function dropUserDatabases(client: MongoClient): Promise<void> {
  const { databases } = await client.db('admin').admin().listDatabases({ nameOnly: true });
  for (const { name } of databases)
    if (!['admin', 'config', 'local', 'clustersync_verifier'].includes(name))
      await client.db(name).dropDatabase();
}
