import assert from 'node:assert/strict';
import { Double, Int32, Long, ObjectId, type Db, type Document } from 'mongodb';
import { commitAndWait, optionsOf, useClusterPair } from './cluster-pair.ts';
import { byId, idsOfEveryType, type Row } from './every-id.ts';
import { canBeSlow, delayNext } from './slow-commands.ts';

const maxCappedBytes = 1e15;

/** One collection or view: its options, and what of them is different on the destination during the sync. */
interface CollectionCase {
  readonly options: Document;
  readonly during?: Document;
}

/** The keys are names of collections. */
const cases: Readonly<Record<string, CollectionCase>> = {
  ordinary: { options: {} },
  'capped by size': {
    options: { capped: true, size: 8192 },
    during: { size: maxCappedBytes },
  },
  'capped by size and count': {
    options: { capped: true, size: 8192, max: 15 },
    during: { size: maxCappedBytes, max: undefined },
  },
  'capped with a collation': {
    options: { capped: true, size: 1_000_000, collation: { locale: 'en', strength: 2 } },
    during: { size: maxCappedBytes },
  },
  'collated, strength 1': { options: { collation: { locale: 'de', strength: 1 } } },
  'collated, numeric order': { options: { collation: { locale: 'en_US', numericOrdering: true } } },
  clustered: { options: { clusteredIndex: { key: { _id: 1 }, unique: true, name: 'by id' } } },
  'clustered with TTL': {
    options: {
      clusteredIndex: { key: { _id: 1 }, unique: true },
      expireAfterSeconds: 3600,
    },
    during: { expireAfterSeconds: undefined },
  },
  'validated by an expression': {
    options: { validator: { $or: [{ n: { $lt: 1000 } }, { 'a.b': { $type: 'string' } }] } },
  },
  'validated by a schema, moderate, warning': {
    options: {
      validator: { $jsonSchema: { required: ['n'], properties: { n: { minimum: 0 } } } },
      validationLevel: 'moderate',
      validationAction: 'warn',
    },
  },
  'with pre-images': { options: { changeStreamPreAndPostImages: { enabled: true } } },
  'with storage options': {
    options: { storageEngine: { wiredTiger: { configString: 'block_compressor=zlib' } } },
  },
  'with defaults for indexes': {
    options: {
      indexOptionDefaults: {
        storageEngine: { wiredTiger: { configString: 'prefix_compression=false' } },
      },
    },
  },
  'a view': { options: { viewOn: 'ordinary', pipeline: [{ $match: { n: { $gt: 3 } } }] } },
  'a view with a collation': {
    options: { viewOn: 'ordinary', pipeline: [], collation: { locale: 'fr' } },
  },
  'a view of a view': { options: { viewOn: 'a view', pipeline: [{ $project: { n: 1 } }] } },
  'a view of nothing': { options: { viewOn: 'missing', pipeline: [{ $limit: 1 }] } },
  'with.dots and-dashes': { options: {} },
  'größe 尺寸 📏': { options: {} },
};

const isView = ({ options }: CollectionCase): boolean => options['viewOn'] !== undefined;

describe('contract 4.2: collections and views that exist before the sync', () => {
  const pair = useClusterPair();
  const during = new Map<string, Document | undefined>();

  before(async () => {
    await pair.reset();
    const db = pair.source.client.db('data');
    for (const [name, { options }] of Object.entries(cases))
      await db.command({ create: name, ...options });
    await fill(db, 0, 30);
    await using syncer = await pair.syncing();
    for (const name of Object.keys(cases))
      during.set(name, await optionsOf(pair.destination, 'data', name));
    await fill(db, 30, 30);
    await commitAndWait(syncer);
  });

  for (const [name, { during: changed = {} }] of Object.entries(cases)) {
    it(`${name}: as it should be during the sync, and as on the source after commit`, async () => {
      const there = await optionsOf(pair.source, 'data', name);
      assert.ok(there);
      assert.deepEqual(withoutUndefined({ ...there, ...changed }), during.get(name));
      assert.deepEqual(await optionsOf(pair.destination, 'data', name), there);
    });
  }

  it('all documents are equal after commit, those of capped collections in their order', async () => {
    await pair.assertEqual();
  });

  it('capped collections drop the same documents as on the source when more come after commit', async () => {
    const names = Object.keys(cases).filter((name) => cases[name]?.options['capped'] === true);
    const counts = new Map<string, number>();
    for (const name of names) {
      const more = Array.from({ length: 30 }, (_, n) => ({
        _id: new ObjectId(),
        filler: 'x'.repeat((n % 5) * 100),
      }));
      for (const { client } of [pair.source, pair.destination]) {
        const capped = client.db('data').collection(name);
        for (const one of more) await capped.insertOne(one);
        counts.set(name, await capped.countDocuments());
      }
    }
    await pair.assertEqual();
    assert.equal(counts.get('capped by size and count'), 15);
    assert.ok((counts.get('capped by size') ?? 0) < 60);
  });

  async function fill(db: Db, first: number, count: number): Promise<void> {
    for (const [name, one] of Object.entries(cases)) {
      if (isView(one)) continue;
      const documents = Array.from({ length: count }, (_, index) =>
        documentOf(name, first + index),
      );
      await db.collection(name).insertMany(documents);
    }
  }
});

describe('contract 4.2 and 4.1: collections that are changed, and odd ids, during the sync', () => {
  const pair = useClusterPair({ parameters: canBeSlow });
  beforeEach(async () => {
    await pair.reset();
  });

  it('documents that break a validator are copied and changed nevertheless', async () => {
    const db = pair.source.client.db('data');
    const rows = db.collection<{ _id: number; n: unknown }>('rows');
    await rows.insertOne({ _id: 1, n: 'not a number' });
    await db.command({ collMod: 'rows', validator: { n: { $type: 'number' } } });
    await using syncer = await pair.syncing();
    const past = { bypassDocumentValidation: true };
    await rows.insertOne({ _id: 2, n: 'neither' }, past);
    await rows.updateOne({ _id: 1 }, { $set: { n: 'still not' } }, past);
    await rows.replaceOne({ _id: 2 }, { n: null }, past);
    await commitAndWait(syncer);
    await pair.assertEqual();
  });

  it('a capped collection of several fetches keeps its order, also when the first of them is inserted slowly', async () => {
    const db = pair.source.client.db('data');
    const text = 'x'.repeat(300_000);
    await db.command({ create: 'rows', capped: true, size: 100_000_000 });
    // A fetch brings about 4 MiB.
    for (let n = 0; n < 48; n++) await db.collection<Row>('rows').insertOne({ _id: n, text });
    const reached = await delayNext(pair.destination, 'insert', 1_000, { namespace: 'data.rows' });
    await using syncer = await pair.syncing();
    await reached();
    await commitAndWait(syncer);
    const copies = pair.destination.client.db('data').collection('rows');
    const order = await copies.find().sort({ $natural: 1 }).project({ _id: 1 }).toArray();
    assert.deepEqual(
      order.map(({ _id }) => _id as unknown),
      Array.from({ length: 48 }, (_, n) => n),
    );
    await pair.assertEqual();
  });

  it('a clustered collection with TTL off, set and changed during the sync', async () => {
    const db = pair.source.client.db('data');
    const clusteredIndex = { key: { _id: 1 }, unique: true };
    await db.command({ create: 'set', clusteredIndex });
    await db.command({ create: 'off', clusteredIndex, expireAfterSeconds: 3600 });
    await db.command({ create: 'changed', clusteredIndex, expireAfterSeconds: 3600 });
    await using syncer = await pair.syncing();
    await db.command({ collMod: 'set', expireAfterSeconds: 60 });
    await db.command({ collMod: 'off', expireAfterSeconds: 'off' });
    await db.command({ collMod: 'changed', expireAfterSeconds: new Long(7200) });
    await db.command({ create: 'new', clusteredIndex, expireAfterSeconds: 600 });
    await commitAndWait(syncer);
    await pair.assertEqual();
  });

  it('a collection that the server keeps for $out goes, and stays where it is renamed', async () => {
    const db = pair.source.client.db('commands');
    // The server lets nobody else create one.
    const create = async (name: string): Promise<void> => {
      const o = { create: name, temp: true };
      await db.admin().command({ applyOps: [{ op: 'c', ns: 'commands.$cmd', o }] });
      await db.collection(name).insertOne({ n: 1 });
    };
    await create('tmp.agg_out.1');
    await create('tmp.agg_out.2');
    await using syncer = await pair.syncing();
    await db.collection('tmp.agg_out.2').rename('result');
    await create('tmp.agg_out.3');
    const kept = await db.listCollections({ 'options.temp': true }).toArray();
    assert.equal(kept.length, 2);
    await commitAndWait(syncer);
    const copies = pair.destination.client.db('commands').listCollections();
    assert.deepEqual(
      (await copies.toArray()).map(({ name }) => name),
      ['result'],
    );
    await pair.assertEqual();
  });

  it('capped sizes and counts changed during the sync', async () => {
    const db = pair.source.client.db('data');
    await db.command({ create: 'larger', capped: true, size: 4096 });
    await db.command({ create: 'counted', capped: true, size: 1_000_000 });
    await db.command({ create: 'uncounted', capped: true, size: 1_000_000, max: 5 });
    const fill = async (name: string, count: number): Promise<void> => {
      for (let n = 0; n < count; n++) await db.collection(name).insertOne({ n });
    };
    for (const name of ['larger', 'counted', 'uncounted']) await fill(name, 10);
    await using syncer = await pair.syncing();
    await db.command({ collMod: 'larger', cappedSize: 9000 });
    await db.command({ collMod: 'counted', cappedMax: 4 });
    await db.command({ collMod: 'uncounted', cappedMax: 0 });
    for (const name of ['larger', 'counted', 'uncounted']) await fill(name, 6);
    await commitAndWait(syncer);
    await pair.assertEqual();
  });

  it('strings that are equal under the collation of a collection are one _id', async () => {
    const db = pair.source.client.db('data');
    await db.command({ create: 'words', collation: { locale: 'en', strength: 2 } });
    const words = db.collection<{ _id: string; n: number }>('words');
    await words.insertMany(
      'a b c d e f g h i j k l m n o p'.split(' ').map((_id, n) => ({ _id, n })),
    );
    await using syncer = await pair.syncing();
    for (const _id of 'A B C D E F G H I J K L M N O'.split(' ')) {
      await words.deleteOne({ _id });
      await words.insertOne({ _id, n: 100 });
    }
    await words.updateOne({ _id: 'c' }, { $set: { n: 7 } });
    await words.deleteOne({ _id: 'P' });
    await commitAndWait(syncer);
    await pair.assertEqual();
  });

  it('_id of every BSON type in one collection, in partitions', async () => {
    const mixed = pair.source.client.db('data').collection<Row>('mixed');
    const padding = 'x'.repeat(500);
    await mixed.insertMany(idsOfEveryType().map((_id) => ({ _id, padding })));
    await mixed.insertMany(Array.from({ length: 500 }, (_, n) => ({ _id: `s${n}`, padding })));
    await mixed.insertMany(Array.from({ length: 500 }, (_, n) => ({ _id: n + 10.25, padding })));
    await using syncer = await pair.syncing({}, { options: { partitionMebibytes: 0.05 } });
    await pair.assertEqual();
    await mixed.updateMany({}, { $set: { changed: new Int32(1), at: new Double(1) } });
    for (const _id of [null, 1.5, 's7']) await mixed.deleteOne(byId(_id));
    await commitAndWait(syncer);
    await pair.assertEqual();
  });
});

function documentOf(name: string, n: number): Document {
  // A clustered collection with TTL expires by the date in _id.
  const _id = name === 'clustered with TTL' ? new Date(Date.now() + 3_600_000 + n) : `${name} ${n}`;
  return { _id, n, text: 'x'.repeat(200) };
}

function withoutUndefined(document: Document): Document {
  return Object.fromEntries(Object.entries(document).filter(([, value]) => value !== undefined));
}
