import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import type { Document, Timestamp } from 'mongodb';
import type { CheckAnswer, CheckFinding } from '../../../sync-api/json.ts';
import type { SyncerProcess } from '../../ground/syncer-process.ts';
import { until } from '../../ground/until.ts';
import { forward, useClusterPair, type Side } from './cluster-pair.ts';
import { canBeSlow, setFailPoint, slowCommands } from './slow-commands.ts';

const mebibyte = 1024 * 1024;
const measuring = 'check?measureCopy=true';

describe('POST /check with measureCopy', function () {
  this.timeout(120_000);
  const roles = { source: 'source', destination: 'destination' } as const;
  const pair = useClusterPair({ roles, parameters: canBeSlow });
  beforeEach(async () => {
    await pair.reset();
  });

  async function findingsOf(syncer: SyncerProcess, path = measuring): Promise<CheckFinding[]> {
    const answer = await syncer.post(path, forward);
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    return [...(answer.body as unknown as CheckAnswer).findings];
  }

  /** The collections that a measurement writes to. */
  async function scratch(): Promise<string[]> {
    const internal = pair.destination.client.db('clustersync_internal');
    const infos = await internal.listCollections({}, { nameOnly: true }).toArray();
    return infos.map(({ name }) => name).sort();
  }

  /** What the destination has written since a time: documents, by the names of their collections. */
  async function inserted(since: Timestamp): Promise<readonly Document[]> {
    const oplog = pair.destination.client.db('local').collection('oplog.rs');
    const found = await oplog.find({ ts: { $gt: since } }).toArray();
    const flat = found.flatMap((entry: Document): Document[] => {
      const { applyOps } = (entry['o'] ?? {}) as { readonly applyOps?: Document[] };
      return applyOps ?? [entry];
    });
    return flat.filter(({ op }) => op === 'i');
  }

  /** Resolves when the destination has carried out also what the syncer has abandoned. */
  async function endOfInserts(): Promise<void> {
    const admin = pair.destination.client.db('admin');
    await until('no insert is under way', async () => {
      const find = [{ $currentOp: {} }, { $match: { 'command.insert': { $exists: true } } }];
      return (await admin.aggregate(find).toArray()).length === 0;
    });
  }

  async function fill(name: string, count: number, bytes: number): Promise<void> {
    const rows = pair.source.client.db('shop').collection(name);
    const perInsert = Math.max(1, Math.floor((8 * mebibyte) / bytes));
    for (let n = 0; n < count; n += perInsert) {
      const length = Math.min(perInsert, count - n);
      const batch = Array.from({ length }, (_, i) => ({ n: n + i, random: randomBytes(bytes) }));
      await rows.insertMany(batch);
    }
  }

  it('copies real documents to collections of its own, tells how fast, and leaves nothing', async () => {
    await fill('items', 2_000, 1_000);
    await fill('few', 10, 100);
    const items = pair.source.client.db('shop').collection('items');
    await items.createIndexes([{ key: { n: 1 }, unique: true }]);
    await using syncer = await pair.syncer();
    const before = await latestTime(pair.destination);
    const [found, ...others] = await findingsOf(syncer);
    assert.deepEqual(others, []);
    assert.deepEqual([found?.severity, found?.name], ['advice', 'CopyEstimated']);
    const [, bytes] =
      /^the copy of 2\.\d MB takes about \d+ s, at a measured .*\/s \((\d\.\d) MB in \d\.\d s\)$/.exec(
        found?.message ?? '',
      ) ?? [];
    assert.ok(Number(bytes) >= 2, found?.message);
    assert.deepEqual(await scratch(), []);
    const written = await inserted(before);
    assert.ok(written.length >= 2_010, String(written.length));
    for (const { ns } of written) assert.match(String(ns), /^clustersync_internal\.copySpeed\.\d$/);
    assert.equal((await syncer.progress()).state, 'IDLE');
  });

  it('names the indexes that the destination refuses, and measures with the others', async () => {
    await fill('items', 2_000, 1_000);
    const items = pair.source.client.db('shop').collection('items');
    await items.createIndexes([
      { key: { random: 1 }, name: 'refused' },
      { key: { n: 1 }, name: 'plain' },
      // Alike during a sync: the commit makes one of them unique.
      { key: { n: 1 }, name: 'unique', unique: true },
    ]);
    await using syncer = await pair.syncer();
    const cannotCreateIndex = 67;
    const data = {
      ...{ failCommands: ['createIndexes'], errorCode: cannotCreateIndex },
      namespace: 'clustersync_internal.copySpeed.0',
    };
    // All at once, then the first of them.
    await using refusals = await setFailPoint(pair.destination, 'failCommand', data, { times: 2 });
    const before = await latestTime(pair.destination);
    const found = await findingsOf(syncer);
    await refusals.reached(2);
    assert.deepEqual(
      found.map(({ severity, name, side, namespaces }) => [severity, name, side, namespaces]),
      [
        ['warning', 'IndexRefusedByDestination', 'source', ['shop.items']],
        ['advice', 'CopyEstimated', undefined, undefined],
      ],
    );
    const oplog = pair.destination.client.db('local').collection('oplog.rs');
    const filter = { ts: { $gt: before }, 'o.createIndexes': 'copySpeed.0' };
    const built = await oplog.find(filter).toArray();
    assert.deepEqual(
      built.map(({ o }) => (o as Document)['name'] as string),
      ['plain'],
    );
    assert.match(
      found[0]?.message ?? '',
      /^the destination refuses the index refused of shop\.items: /,
    );
  });

  it('writes 64 MiB at most', async () => {
    await fill('large', 100, mebibyte);
    await using syncer = await pair.syncer();
    const before = await latestTime(pair.destination);
    const [found] = await findingsOf(syncer);
    const [, megabytes, seconds] =
      /^the copy of 105 MB .* \((\d+\.\d) MB in (\d\.\d) s\)$/.exec(found?.message ?? '') ?? [];
    // 63 documents, or fewer if they take longer than it may copy.
    assert.ok(megabytes === '66.1' || seconds === '5.0', found?.message);
    const written = (await inserted(before)).length;
    assert.ok(written <= 63, String(written));
    if (seconds !== '5.0') assert.equal(written, 63);
    assert.deepEqual(await scratch(), []);
  });

  it('writes nothing without the parameter, nor while a start would be refused', async () => {
    await fill('items', 10, 100);
    await using syncer = await pair.syncer();
    const before = await latestTime(pair.destination);
    for (const path of ['check', 'check?measureCopy=false'])
      assert.deepEqual(await findingsOf(syncer, path), []);
    assert.deepEqual(await inserted(before), []);
    await pair.destination.client.db('shop').collection('there').insertOne({});
    const between = await latestTime(pair.destination);
    assert.deepEqual(
      (await findingsOf(syncer)).map(({ name, message }) => [name, message]),
      [
        ['DestinationNotEmpty', 'the destination already has data: shop.there'],
        [
          'NotChecked',
          'the speed of the copy could not be checked: nothing is written while a start would be refused',
        ],
      ],
    );
    assert.deepEqual(await inserted(between), []);
  });

  it('refuses parameters that it does not know', async () => {
    await using syncer = await pair.syncer();
    for (const path of ['check?measureCopy=yes', 'check?measure=true']) {
      const { status, body } = await syncer.post(path, forward);
      assert.deepEqual([status, body['error']], [400, 'InvalidBody']);
    }
  });

  it('ends within its time if the destination is slow', async () => {
    await fill('items', 40, mebibyte);
    await using syncer = await pair.syncer();
    await using slow = await slowCommands(pair.destination, ['insert'], 2_000);
    const [found, ...others] = await findingsOf(syncer);
    assert.deepEqual(others, []);
    await slow.reached(1);
    assert.match(found?.message ?? '', /\(\d\.\d MB in 5\.0 s\)$/);
    assert.deepEqual(await scratch(), []);
  });

  it('says so if nothing was written in that time', async () => {
    await fill('items', 10, mebibyte);
    await using syncer = await pair.syncer();
    await using slow = await slowCommands(pair.destination, ['insert'], 8_000);
    const findings = await findingsOf(syncer);
    await slow.reached(1);
    assert.deepEqual(
      findings.map(({ message }) => message),
      ['the speed of the copy could not be checked: nothing was acknowledged within 5 s'],
    );
    await endOfInserts();
    assert.deepEqual(await scratch(), []);
  });

  describe('takes back what it has written', () => {
    beforeEach(async () => {
      await fill('items', 40, mebibyte);
    });

    it('when the caller goes away', async () => {
      await using syncer = await pair.syncer();
      await using slow = await slowCommands(pair.destination, ['insert'], 1_000);
      const caller = new AbortController();
      const asking = fetch(`${syncer.url}/api/v1/${measuring}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(forward),
        signal: caller.signal,
      });
      await slow.reached(1);
      assert.notDeepEqual(await scratch(), []);
      caller.abort();
      await assert.rejects(asking);
      await until('nothing is left', async () => (await scratch()).length === 0);
      await endOfInserts();
      assert.deepEqual(await scratch(), []);
    });

    it('when the syncer is told to end', async () => {
      await using syncer = await pair.syncer();
      await using slow = await slowCommands(pair.destination, ['insert'], 1_000);
      const asking = syncer.post(measuring, forward).catch(() => undefined);
      await slow.reached(1);
      await syncer.kill('SIGTERM');
      await asking;
      assert.equal(syncer.exitCode, 0);
      assert.deepEqual(await scratch(), []);
    });

    it('after an error', async () => {
      await using syncer = await pair.syncer();
      await using slow = await slowCommands(pair.destination, ['insert'], 1_000);
      const asking = findingsOf(syncer);
      await slow.reached(1);
      const internal = pair.destination.client.db('clustersync_internal');
      for (const name of await scratch()) await internal.dropCollection(name);
      const [found, ...others] = await asking;
      assert.deepEqual(others, []);
      assert.equal(found?.name, 'NotChecked');
      assert.match(found.message, /^the speed of the copy could not be checked: /);
      assert.deepEqual(await scratch(), []);
    });

    it('in the next measurement, if its process was killed', async () => {
      await using syncer = await pair.syncer();
      await using slow = await slowCommands(pair.destination, ['insert'], 1_000);
      const asking = syncer.post(measuring, forward).catch(() => undefined);
      await slow.reached(1);
      await syncer.kill();
      await asking;
      await slow[Symbol.asyncDispose]();
      assert.notDeepEqual(await scratch(), []);
      await syncer.restart();
      // A check alone changes nothing.
      assert.deepEqual(await findingsOf(syncer, 'check'), []);
      assert.notDeepEqual(await scratch(), []);
      assert.deepEqual(
        (await findingsOf(syncer)).map(({ name }) => name),
        ['CopyEstimated'],
      );
      assert.deepEqual(await scratch(), []);
      await syncer.start(forward);
      await syncer.waitFor(({ canCommit }) => canCommit);
    });
  });
});

async function latestTime({ client }: Pick<Side, 'client'>): Promise<Timestamp> {
  const hello = await client.db('admin').command({ hello: 1 });
  return (hello['lastWrite'] as { opTime: { ts: Timestamp } }).opTime.ts;
}
