import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { BSON, Timestamp, type Document } from 'mongodb';
import { commitAndWait, useClusterPair } from './cluster-pair.ts';
import { insertRaw, raw } from './raw-documents.ts';

const mebibyte = 1024 * 1024;

// A primary that has just been elected may not know yet that a majority has what its predecessor has told of.
describe('what is read of a replica set is not older than what the sync knows of it', () => {
  const pair = useClusterPair();
  before(async () => {
    // The servers of the tests have little cache, in which one document of the largest size hardly fits.
    const more = { setParameter: 1, wiredTigerEngineRuntimeConfig: 'cache_size=1G' };
    for (const { client } of [pair.source, pair.destination])
      await client.db('admin').command(more);
    // Every command is slow, and goes to the log.
    const everyCommand = { profile: 0, slowms: -1 };
    await pair.source.client.db('admin').command(everyCommand);
  });
  beforeEach(async () => {
    await pair.reset();
  });

  /** Commands of the syncers in the source's log from a time on, as pairs of the command and the time it asks to be after. */
  async function loggedSince(atMs: number): Promise<{ command: Document; after: unknown }[]> {
    const [member] = pair.source.set.members;
    const lines = (await readFile(member?.logFile ?? '', 'utf8')).split('\n');
    return lines
      .filter((line) => line.includes('"Slow query"') && line.includes('clustersync syncer'))
      .map((line) => BSON.EJSON.parse(line) as { t: Date; attr: { command: Document } })
      .filter(({ t }) => t.getTime() >= atMs)
      .map(({ attr: { command } }) => {
        const { readConcern } = command as { readConcern?: { afterClusterTime?: unknown } };
        return { command, after: readConcern?.afterClusterTime ?? null };
      });
  }

  it('the catalog and the copy: not older than where the change events begin', async () => {
    const shop = pair.source.client.db('shop');
    const text = 'x'.repeat(1_000);
    for (const name of ['large', 'small'])
      await shop.collection(name).insertMany(Array.from({ length: 100 }, (_, n) => ({ n, text })));
    await shop.createCollection('capped', { capped: true, size: 100_000 });
    await shop.collection('capped').insertOne({ n: 1 });
    await using syncer = await pair.syncer({ options: { partitionMebibytes: 0.02 } });
    await syncer.start({ source: 'cluster0', destination: 'cluster1' });
    await syncer.waitFor(({ canCommit }) => canCommit);
    // What a start looks at has no start time yet. A beginning that was cut off, as by a slow machine, is repeated as a whole with a later
    // start time, and no second `started`: what counts then is read after that, and otherwise from `started` on.
    const lines = (await syncer.log()).split('\n');
    const beginnings = lines.filter((line) => /"phase":"catalog".*"msg":"phase"/.test(line));
    const begun =
      beginnings.length > 1
        ? beginnings.at(-1)
        : lines.find((line) => line.includes('"msg":"started"'));
    assert.ok(begun !== undefined && beginnings.length > 0, lines.join('\n'));
    const startedAt = new Date((JSON.parse(begun) as { time: string }).time);
    const state = pair.destination.client.db('clustersync_internal');
    const [record] = await state.collection('sync').find({ phase: 'changes' }).toArray();
    const startTime: unknown = record?.['startTime'];
    assert.ok(startTime instanceof Timestamp);
    const logged = await loggedSince(startedAt.getTime());
    const expected = { listDatabases: 1, listCollections: 2, listIndexes: 3, find: 11 };
    for (const [kind, count] of Object.entries(expected)) {
      const all = logged.filter(({ command }) => kind in command && command['$db'] !== 'local');
      assert.ok(all.length >= count, `${all.length} of ${kind}`);
      for (const { command, after } of all)
        assert.ok(
          after instanceof Timestamp && after.greaterThanOrEqual(startTime),
          `${JSON.stringify(command)} is too early`,
        );
    }
    await commitAndWait(syncer);
    await pair.assertEqual();
  });

  it('the document of an event that is too large: not older than the event', async () => {
    const { client } = pair.source;
    const shop = client.db('shop');
    await shop.createCollection('rows');
    await using syncer = await pair.syncing();
    // The log would cut the command off.
    await shop.command({ profile: 2 });
    const id = 'i'.repeat(20 * 1024);
    const rest = raw(['_id', id], ['filler', '']).bytes.length;
    const filler = 'f'.repeat(16 * mebibyte - 6 * 1024 - rest);
    await insertRaw(shop, 'rows', raw(['_id', id], ['filler', filler]));
    const [entry] = await client
      .db('local')
      .collection('oplog.rs')
      .find({ op: 'i', ns: 'shop.rows' })
      .sort({ $natural: -1 })
      .limit(1)
      .project({ ts: 1 })
      .toArray();
    const time: unknown = entry?.['ts'];
    assert.ok(time instanceof Timestamp);
    await syncer.waitFor(({ totalEventsApplied }) => (totalEventsApplied ?? 0) > 0);
    await shop.command({ profile: 0 });
    const reads = await shop
      .collection('system.profile')
      .find({ appName: /^clustersync syncer/, 'command.find': 'rows' })
      .toArray();
    assert.ok(reads.length > 0, 'read again');
    for (const { command } of reads) {
      const { readConcern } = command as { readConcern?: { afterClusterTime?: unknown } };
      const after = readConcern?.afterClusterTime;
      assert.ok(after instanceof Timestamp && after.greaterThanOrEqual(time), String(after));
    }
    const copies = pair.destination.client.db('shop').collection<{ _id: string }>('rows');
    assert.equal(await copies.countDocuments({ _id: id }), 1);
    await commitAndWait(syncer);
    await pair.assertEqual();
  });
});
