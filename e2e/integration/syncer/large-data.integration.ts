import assert from 'node:assert/strict';
import type { Db } from 'mongodb';
import { commitAndWait, forward, useClusterPair, type ClusterPair } from './cluster-pair.ts';
import { byId, type Row } from './every-id.ts';
import { insertRaw, raw, RawText, updateRaw } from './raw-documents.ts';
import { peakResidentBytes } from '../../ground/peak-memory.ts';
import { canBeSlow, holdCommands } from './slow-commands.ts';

const mebibyte = 1024 * 1024;

/** Largest document that a server takes. */
const maxDocumentBytes = 16 * mebibyte;

/** Some batches of 16 MiB at a time, each read, held and sent. */
const maxResidentBytes = 500 * mebibyte;

describe('large documents', () => {
  const pair = useClusterPair({ parameters: canBeSlow });
  before(async () => {
    await enlargeCaches(pair);
  });
  beforeEach(async () => {
    await pair.reset();
  });

  it('documents of 16 MiB less a little: copied, inserted, replaced and updated', async () => {
    const db = pair.source.client.db('data');
    for (const n of [1, 2, 3]) await insertOfSize(db, n, maxDocumentBytes - 64);
    await using syncer = await pair.syncer();
    await using held = await holdCommands(pair.destination, 'insert', 'data.rows');
    await syncer.start(forward);
    await held.reached(1);
    await insertOfSize(db, 4, maxDocumentBytes - 64);
    await updateRaw(db, 'rows', 1, raw(['$set', raw(['filler', 'u'.repeat(15 * mebibyte)])]));
    assert.equal((await syncer.progress()).canCommit, false);
    await held[Symbol.asyncDispose]();
    await syncer.waitFor(({ canCommit }) => canCommit);
    await insertOfSize(db, 5, maxDocumentBytes - 64);
    await db.collection<Row>('rows').replaceOne(byId(2), { filler: 'r'.repeat(15.9e6) });
    const halves = { $set: { filler: 'h'.repeat(8e6), more: 'i'.repeat(7e6) } };
    await db.collection<Row>('rows').updateOne(byId(3), [halves]);
    await db.collection<Row>('rows').deleteOne(byId(4));
    await commitAndWait(syncer);
    const residentBytes = await peakResidentBytes(syncer.pid);
    await pair.assertEqual();
    assert.ok(residentBytes < maxResidentBytes, `${residentBytes} bytes resident`);
  });
});

// Where its test commands are enabled, a server answers with an error where others close the connection.
describe('change events that no server can send', () => {
  const pair = useClusterPair();
  before(async () => {
    await enlargeCaches(pair);
  });
  beforeEach(async () => {
    await pair.reset();
  });

  it('events above 16 MiB, and answers that are too large with their resume token', async () => {
    const db = pair.source.client.db('data');
    const rows = db.collection<Row>('rows');
    await db.command({ create: 'capped', capped: true, size: 50 * mebibyte });
    await db.command({ create: 'collated', collation: { locale: 'en', strength: 2 } });
    await using syncer = await pair.syncing();
    // Small ones before, between and after.
    const small = (n: number): Promise<unknown> =>
      insertRaw(db, 'rows', raw(['_id', n], ['a', 1], ['a', 2], ['b', new RawText(0xff)]));
    await small(1);
    // The event is too large by what it repeats of an _id of 20 KiB.
    const id = 'i'.repeat(20 * 1024);
    await insertOfSize(db, id, maxDocumentBytes - 6 * 1024);
    await small(2);
    await updateRaw(db, 'rows', id, raw(['$set', raw(['filler', 'u'.repeat(15 * mebibyte)])]));
    await insertOfSize(db, `${id}gone`, maxDocumentBytes - 6 * 1024);
    await rows.deleteOne(byId(`${id}gone`));
    await insertOfSize(db, `${id}replaced`, maxDocumentBytes - 6 * 1024);
    await rows.replaceOne(byId(`${id}replaced`), { n: 1 });
    await insertOfSize(db, `${id}updated`, maxDocumentBytes - 6 * 1024);
    for (const n of [1, 2]) await rows.updateOne(byId(`${id}updated`), { $set: { [`n${n}`]: n } });
    // Here the event fits, and with a resume token beside it the answer does not.
    const longId = 'l'.repeat(3e6);
    await insertOfSize(db, longId, 4e6);
    await rows.updateOne(byId(longId), { $set: { n: 1 } });
    // These fit alone, and not together.
    for (const bytes of [2.9e6, 2.3e6]) await insertOfSize(db, 'm'.repeat(bytes), bytes + 1e3);
    await small(3);
    for (const name of ['capped', 'collated']) {
      await insertOfSize(db, `${id}${name}`, maxDocumentBytes - 6 * 1024, name);
      await insertRaw(db, name, raw(['_id', 'last']));
    }
    await rows.rename('renamed');
    await insertOfSize(db, `${id}later`, maxDocumentBytes - 6 * 1024);
    await commitAndWait(syncer);
    await pair.assertEqual();
    assert.match(await syncer.log(), /"isAbbreviated":true/);
  });

  it('an event above 16 MiB directly before a change of the catalog', async () => {
    const db = pair.source.client.db('data');
    await db.collection<Row>('rows').insertOne({ _id: 0 });
    await using syncer = await pair.syncing();
    // The first one is read by itself, the second together with what is after it.
    await syncer.kill('SIGSTOP');
    for (const letter of ['i', 'j'])
      await insertOfSize(db, letter.repeat(20 * 1024), maxDocumentBytes - 6 * 1024);
    await db.collection('rows').rename('renamed');
    await syncer.kill('SIGCONT');
    await commitAndWait(syncer);
    await pair.assertEqual();
    assert.match(await syncer.log(), /"isAbbreviated":true/);
  });

  // At 7 MB the server says so. At 3.5 MB the event fits, but not beside a resume token in an answer: it closes the connection.
  for (const idBytes of [7e6, 3.5e6]) {
    it(`an event that is too large even in short, by an _id of ${idBytes / 1e6} MB, stops the sync under its name`, async () => {
      const db = pair.source.client.db('data');
      await db.createCollection('rows');
      await using syncer = await pair.syncing();
      await insertOfSize(db, 'x'.repeat(idBytes), idBytes + 1e5);
      await assert.rejects(
        syncer.waitFor(({ state }) => state === 'COMMITTED'),
        /ChangeNotSupported.*exceeds the maximum document size/,
      );
    });
  }
});

async function insertOfSize(db: Db, _id: unknown, bytes: number, coll = 'rows'): Promise<void> {
  const rest = raw(['_id', _id], ['filler', '']).bytes.length;
  await insertRaw(db, coll, raw(['_id', _id], ['filler', 'f'.repeat(bytes - rest)]));
}

/** The servers of the tests have little cache, in which one document of this size hardly fits. */
async function enlargeCaches({ source, destination }: ClusterPair): Promise<void> {
  const more = { setParameter: 1, wiredTigerEngineRuntimeConfig: 'cache_size=1G' };
  for (const { client } of [source, destination]) await client.db('admin').command(more);
}
