import assert from 'node:assert/strict';
import {
  Binary,
  BSON,
  type Collection,
  type Db,
  type Document,
  type MongoClient,
  type Timestamp,
} from 'mongodb';
import { createClusterClient } from '../../../mongo/cluster-client.ts';
import { verifierDatabase } from '../../../mongo/namespace.ts';
import { SyncError } from '../../../service/errors.ts';
import { createLogger } from '../../../service/logger.ts';
import { ChangeFollower } from '../../../verifier/passes/change-follower.ts';
import { idKey, keyBytes } from '../../../verifier/compare/id-key.ts';
import { ChangeLog } from '../../../verifier/passes/change-log.ts';
import { VerifierMonitor } from '../../../verifier/monitor.ts';
import { until } from '../../ground/until.ts';
import { VerifierProcess } from '../../ground/verifier-process.ts';
import { applyOps } from './apply-ops.ts';
import { useReplicaSetPair } from './replica-set-pair.ts';
import { openSession, type Progress, type VerifierSession } from './verifier-session.ts';

interface Row extends Document {
  readonly _id: number | string;
}

const documents = 400;

/** Four ranges. */
const partitionMebibytes = 0.025;

const tenYearsSeconds = 315_360_000;

describe('verifier, attacks on the verdict', () => {
  const pair = useReplicaSetPair({ parameters: { enableTestCommands: 1 } });

  beforeEach(async () => {
    for (const db of [pair.source, pair.destination]) await db.dropDatabase();
    await clientOf(1).db(verifierDatabase).dropDatabase();
  });

  afterEach(async () => {
    await fail({ mode: 'off' });
  });

  function clientOf(index: 0 | 1): MongoClient {
    const client = pair.clients[index];
    assert.ok(client);
    return client;
  }

  function uris(): { readonly srcURI: string; readonly destURI: string } {
    const [srcURI = '', destURI = ''] = pair.sets.map((set) => set.uri('syncer'));
    return { srcURI, destURI };
  }

  function open(more: Partial<Parameters<typeof openSession>[0]> = {}): Promise<VerifierSession> {
    return openSession({ ...uris(), partitionMebibytes, ...more });
  }

  /** A collection of the metadata store. */
  function stored(name: string): Collection {
    return clientOf(1).db(verifierDatabase).collection(name);
  }

  /** Sets the fail point of commands, by default on the destination, which has the metadata store. @returns how often it was entered. */
  async function fail(command: Document, client = clientOf(1)): Promise<number> {
    const set = { configureFailPoint: 'failCommand', ...command };
    return Number((await client.db('admin').command(set))['count']);
  }

  async function onBoth(run: (db: Db) => Promise<unknown>): Promise<void> {
    for (const db of [pair.source, pair.destination]) await run(db);
  }

  async function fill(): Promise<void> {
    const rows = Array.from({ length: documents }, (_, _id): Row => {
      return { _id, text: 'x'.repeat(200) };
    });
    await onBoth(async (db) => await db.collection<Row>('items').insertMany(rows));
  }

  async function untilCovered(): Promise<void> {
    await until('the first pass has read the collection', async () => {
      return (await stored('coverages').countDocuments({})) === 1;
    });
  }

  async function lastChangeOfSource(): Promise<Timestamp> {
    const oplog = clientOf(0).db('local').collection('oplog.rs');
    const [entry] = await oplog.find({ ns: 'shop.items' }).sort({ ts: -1 }).limit(1).toArray();
    assert.ok(entry);
    return entry['ts'] as Timestamp;
  }

  /** Waits for the position of the source on record that is after a change. */
  async function untilStored(time: Timestamp): Promise<void> {
    await until('the position after the change is on record', async () => {
      const record = await stored('verifications').findOne({});
      const positions = record?.['positions'] as Document | undefined;
      const position = positions?.['source'] as Document | null | undefined;
      return position != null && (position['time'] as Timestamp).compare(time) >= 0;
    });
  }

  /** Keeps the coordinator from finding what must be compared again. */
  async function holdNotes(): Promise<void> {
    await fail({
      mode: 'alwaysOn',
      // Tried again for as long as it takes.
      data: { failCommands: ['find'], namespace: `${verifierDatabase}.rechecks`, errorCode: 112 },
    });
  }

  /** Loses the note that a document is to be compared again. */
  async function loseNoteOf(_id: number): Promise<void> {
    const key = new Binary(keyBytes(idKey(BSON.serialize({ _id }))));
    await until('the note is lost', async () => {
      return (await stored('rechecks').deleteOne({ ids: key })).deletedCount === 1;
    });
    await fail({ mode: 'off' });
  }

  /** After what could not be proven, a further check compares everything: it finds the document that differs. */
  async function comparesAgain(session: VerifierSession, _id: number): Promise<void> {
    await session.post('check');
    const progress = await session.untilComplete();
    assert.equal(progress.verdict, 'different');
    const expected = ['shop.items', 'differentDocument', `{"$numberInt":"${_id}"}`];
    assert.deepEqual(shown(progress), [expected]);
    assert.equal(progress.documentsCompared, documents);
  }

  function shown({ mismatches }: Progress): readonly (readonly unknown[])[] {
    return mismatches.map(({ namespace, kind, id }) => [namespace, kind, id]);
  }

  it('finds a change noted by a coordinator that was killed while it planned a pass', async () => {
    await fill();
    const { srcURI, destURI } = uris();
    await using verifier = await VerifierProcess.start({
      uris: { srcURI, destURI, metaURI: destURI },
    });
    await verifier.post('check');
    await untilCovered();
    const entered = await fail({
      mode: 'alwaysOn',
      data: {
        failCommands: ['insert'],
        namespace: `${verifierDatabase}.tasks`,
        // Tried again for as long as it takes.
        errorCode: 112,
      },
    });
    const harmless = { $set: { text: 'the same' } };
    await onBoth(async (db) => await db.collection<Row>('items').updateOne({ _id: 1 }, harmless));
    await clientOf(1)
      .db('admin')
      .command({ waitForFailPoint: 'failCommand', timesEntered: entered + 1, maxTimeMS: 60_000 });
    await pair.source.collection<Row>('items').updateOne({ _id: 5 }, { $set: { text: 'y' } });
    const time = await lastChangeOfSource();
    await untilStored(time);
    assert.equal(await stored('rechecks').countDocuments({ generation: 2 }), 1);
    await verifier.kill();
    await fail({ mode: 'off' });
    await verifier.restart();
    await verifier.post('writesOff');
    const progress = await verifier.untilComplete();
    const id = '{"$numberInt":"5"}';
    assert.deepEqual(shown(progress), [['shop.items', 'differentDocument', id]]);
    assert.equal(progress.verdict, 'different');
  });

  for (const side of ['source', 'destination'] as const)
    it(`finds a change of the ${side} before the end of writes, of which its change stream tells late`, async () => {
      await fill();
      await using session = await open();
      await session.post('check');
      await untilCovered();
      const client = clientOf(side === 'source' ? 0 : 1);
      const slow = {
        failCommands: ['getMore'],
        namespace: 'admin.$cmd.aggregate',
        blockConnection: true,
        blockTimeMS: 3_000,
      };
      const timesEntered = (await fail({ mode: 'alwaysOn', data: slow }, client)) + 1;
      try {
        const admin = client.db('admin');
        await admin.command({ waitForFailPoint: 'failCommand', timesEntered, maxTimeMS: 60_000 });
        const changed = { $set: { text: 'changed' } };
        await pair[side].collection<Row>('items').updateOne({ _id: 7 }, changed);
        await session.post('writesOff');
        const progress = await session.untilComplete();
        assert.equal(progress.verdict, 'different');
        const expected = ['shop.items', 'differentDocument', '{"$numberInt":"7"}'];
        assert.deepEqual(shown(progress), [expected]);
      } finally {
        await fail({ mode: 'off' }, client);
      }
    });

  it('gives no verdict where a note is lost of what a pass found to be different', async () => {
    await fill();
    const copies = pair.destination.collection<Row>('items');
    await copies.updateOne({ _id: 5 }, { $set: { text: 'y' } });
    await using session = await open({ maxBytesPerSecond: 30_000, workers: 1 });
    await session.post('check');
    await until('the first pass is planned', async () => {
      return (await session.progress()).generationKind === 'first';
    });
    await holdNotes();
    await untilCovered();
    await loseNoteOf(5);
    await session.post('writesOff');
    assert.match(
      await session.untilFailed(),
      /^CheckFailed: .*found by pass 0: 0 of 1 notes are on record/,
    );
    await comparesAgain(session, 5);
  });

  it('gives no verdict where a note is lost of what a change stream told', async () => {
    await fill();
    await using session = await open();
    await session.post('check');
    await untilCovered();
    await holdNotes();
    await pair.source.collection<Row>('items').updateOne({ _id: 5 }, { $set: { text: 'y' } });
    await untilStored(await lastChangeOfSource());
    await loseNoteOf(5);
    await session.post('writesOff');
    assert.match(
      await session.untilFailed(),
      /^CheckFailed: .*seen by the change streams: \d+ of \d+ notes are on record/,
    );
    await comparesAgain(session, 5);
  });

  it('does not store a position after changes that could not be stored', async () => {
    await fill();
    const { srcURI } = uris();
    await using cluster = createClusterClient({
      uri: srcURI,
      option: 'srcURI',
      appName: 'follower',
    });
    const from = await lastChangeOfSource();
    const refused = new SyncError('ClusterUnreachable', 'the store does not answer');
    const stop = new AbortController();
    const position = Promise.withResolvers<string>();
    const log = new ChangeLog(
      {
        add: async (_, rechecks) => {
          if (rechecks.length > 0) await Promise.reject(refused);
        },
        addTallies: async () => {
          await Promise.resolve();
        },
        setPositions: async () => {
          await Promise.resolve();
          position.resolve('a position was stored');
        },
      },
      { generation: 1, positions: { source: null, destination: null } },
    );
    const follower = new ChangeFollower({
      signal: stop.signal,
      logger: createLogger('verifier', 'debug', () => undefined),
      monitor: new VerifierMonitor(),
      side: 'source',
      cluster,
      isSharded: false,
      from,
      selects: async () => await Promise.resolve(true),
      reached: null,
      log,
      onStored: () => undefined,
    });
    await pair.source.collection<Row>('items').updateOne({ _id: 9 }, { $set: { text: 'y' } });
    try {
      await assert.rejects(Promise.race([follower.run(), position.promise]), refused);
      await assert.rejects(log.flush(), refused);
    } finally {
      stop.abort(new Error('the test is over'));
    }
  });

  it('does not take lost documents for expired ones in a collection with a TTL index', async () => {
    await fill();
    await onBoth(
      async (db) =>
        await db
          .collection<Row>('items')
          .createIndexes([{ key: { at: 1 }, expireAfterSeconds: tenYearsSeconds }]),
    );
    await using session = await open();
    await session.post('check');
    await untilCovered();
    const lost = 300;
    await applyOps(
      clientOf(1),
      Array.from({ length: lost }, (_, _id) => ({ op: 'd', ns: 'shop.items', o: { _id } })),
    );
    await session.post('writesOff');
    const { verdict, mismatchCount, mismatches } = await session.untilComplete();
    assert.equal(verdict, 'different');
    assert.equal(mismatchCount, lost);
    assert.ok(mismatches.every(({ kind }) => kind === 'missingDocument'));
  });

  it('does not take lost documents for expired ones where the clock of its machine is ahead', async () => {
    await fill();
    const at = new Date();
    await onBoth(async (db) => {
      const items = db.collection<Row>('items');
      await items.createIndexes([{ key: { at: 1 }, expireAfterSeconds: 1_800 }]);
      await items.updateMany({}, { $set: { at } });
    });
    const now = Date.now;
    try {
      Date.now = () => now() + 3_600_000;
      await using session = await open();
      await session.post('check');
      await untilCovered();
      await applyOps(
        clientOf(1),
        [7, 8].map((_id) => ({ op: 'd', ns: 'shop.items', o: { _id } })),
      );
      await session.post('writesOff');
      const progress = await session.untilComplete();
      assert.equal(progress.verdict, 'different');
      assert.deepEqual(
        shown(progress)
          .map((found) => found.join(' '))
          .sort(),
        [7, 8].map((_id) => `shop.items missingDocument {"$numberInt":"${_id}"}`),
      );
    } finally {
      Date.now = now;
    }
  });

  it('gives no verdict where nothing is left that its filter selects', async () => {
    await fill();
    const includeNamespaces = JSON.stringify([{ database: 'shop' }]);
    await using session = await open({ verifyAll: false, includeNamespaces });
    await session.post('check');
    await untilCovered();
    await onBoth(async (db) => await db.dropDatabase());
    await session.post('writesOff');
    assert.match(await session.untilFailed(), /^CheckFailed: the filter selects no namespace/);
  });

  it('finds different collations of a large collection, and what differs in it', async () => {
    const rows = Array.from({ length: documents }, (_, number): Row => {
      const letter = String.fromCharCode((number % 2 === 0 ? 65 : 97) + (number % 26));
      // Several batches of each side.
      return { _id: `${letter}${number}`, text: 'x'.repeat(20_000) };
    });
    await pair.source.createCollection('items');
    const collation = { locale: 'en', strength: 1 };
    const [missing, changed] = [rows[7]?._id ?? '', rows[300]?._id ?? ''];
    await pair.destination.createCollection('items', { collation });
    await onBoth(async (db) => await db.collection<Row>('items').insertMany(rows));
    const copies = pair.destination.collection<Row>('items');
    await copies.deleteOne({ _id: missing });
    await copies.updateOne({ _id: changed }, { $set: { text: 'y' } });
    await copies.insertOne({ _id: 'more' });
    await using session = await open();
    await session.post('check');
    await session.post('writesOff');
    const progress = await session.untilComplete();
    assert.equal(progress.verdict, 'different');
    const found = progress.mismatches.map(({ kind, id }) => [kind, id ?? ''].join(' '));
    assert.deepEqual(found.sort(), [
      `differentDocument "${changed}"`,
      'extraDocument "more"',
      `missingDocument "${missing}"`,
      'options ',
    ]);
  });
});
