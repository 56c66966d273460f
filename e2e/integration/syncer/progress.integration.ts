import assert from 'node:assert/strict';
import { sleep } from '../../../service/sleep.ts';
import type { SyncerProcess, SyncerProgress } from '../../ground/syncer-process.ts';
import { until } from '../../ground/until.ts';
import { commitAndWait, forward, useClusterPair } from './cluster-pair.ts';
import { canBeSlow, slowCommands } from './slow-commands.ts';

/** In the order in which they come. */
const infos = [
  'collection copy',
  'change event application',
  'waiting for commit to complete',
  'commit completed',
];

const states = ['RUNNING', 'COMMITTING', 'COMMITTED'];

describe('contract 2.2: progress', () => {
  const pair = useClusterPair({ parameters: canBeSlow });
  beforeEach(async () => {
    await pair.reset();
  });

  it('in IDLE all fields but state and canCommit are null', async () => {
    await using syncer = await pair.syncer();
    const { status, body } = await syncer.getProgress();
    assert.equal(status, 200);
    assert.deepEqual(Object.keys(body), ['progress']);
    const { state, canCommit, ...others } = body['progress'] as SyncerProgress;
    assert.deepEqual({ state, canCommit }, { state: 'IDLE', canCommit: false });
    assert.ok(Object.keys(others).length >= 7);
    for (const [field, value] of Object.entries(others)) assert.equal(value, null, field);
  });

  it('every field keeps its type and its rule from start to the end of commit', async () => {
    const shop = pair.source.client.db('shop');
    let totalBytes = 0;
    for (const name of ['a', 'b', 'c', 'd']) {
      await shop.collection(name).insertMany(rows(0, 300));
      totalBytes += Number((await shop.command({ collStats: name }))['size']);
    }
    await shop.command({
      createIndexes: 'a',
      indexes: [
        { key: { n: 1 }, name: 'unique', unique: true },
        { key: { at: 1 }, name: 'ttl', expireAfterSeconds: 3600 },
      ],
    });
    await using syncer = await pair.syncer({ options: { id: 'syncer', copyWorkers: 1 } });
    await using slow = await slowCommands(pair.destination, ['insert', 'collMod'], 250);
    await using recording = record(syncer);
    await syncer.start(forward);
    await shop.collection('a').insertMany(rows(300, 300));
    await syncer.waitFor(({ canCommit }) => canCommit);
    await shop.collection('b').insertMany(rows(300, 300));
    const copies = pair.destination.client.db('shop').collection('b');
    await until('the copy of all', async () => (await copies.countDocuments()) === 600);
    // Long enough for a progress to be read before and after users may write; it takes the place of the other slowness.
    await slowCommands(pair.destination, ['collMod'], 1_500);
    await commitAndWait(syncer);
    const samples = await recording.stop();
    await slow[Symbol.asyncDispose]();

    const source = pair.source.set.members[0]?.address ?? '';
    const destination = pair.destination.set.members[0]?.address ?? '';
    for (const sample of samples) {
      assert.ok(states.includes(sample.state), sample.state);
      assert.ok(infos.includes(sample.info ?? ''), String(sample.info));
      // Before the copy begins there is none to tell of.
      const hasNoLag = sample.info === 'collection copy' && sample.lagTimeSeconds === null;
      assert.ok(hasNoLag || isCount(sample.lagTimeSeconds));
      assert.ok(isCount(sample.collectionCopy?.estimatedTotalBytes));
      assert.ok(isCount(sample.collectionCopy?.estimatedCopiedBytes));
      assert.deepEqual(sample.directionMapping, {
        Source: `cluster0: ${source}`,
        Destination: `cluster1: ${destination}`,
      });
      assert.match(source, /^127\.0\.0\.1:\d+$/);
      assert.equal(sample.syncerID, 'syncer');
      assert.ok(sample.coordinatorID === null || sample.coordinatorID === 'syncer');
      // A warning reports the commit until a majority of the destination has it.
      const isOnItsWay = sample.state === 'RUNNING' && sample.commitUnderWay === true;
      if (isOnItsWay) assert.match(sample.warnings?.join() ?? '', /^(commit: [^,]*)?$/);
      else assert.deepEqual(sample.warnings, []);
      // canCommit: the initial copy is complete, and change events are being applied.
      assert.equal(
        sample.canCommit || (isOnItsWay && sample.warnings?.length === 1),
        sample.state === 'RUNNING' && sample.info === 'change event application',
      );
      assert.equal(typeof sample.commitUnderWay === 'boolean' || sample.state === 'RUNNING', true);
      if (sample.state === 'COMMITTING') assert.equal(sample.commitUnderWay, true);
      if (sample.state === 'COMMITTED') assert.equal(sample.commitUnderWay, false);
      assert.equal(typeof sample.canWrite, 'boolean');
      if (sample.state === 'RUNNING') assert.equal(sample.canWrite, false);
      if (sample.state === 'COMMITTING')
        assert.equal(sample.info, 'waiting for commit to complete');
      if (sample.state === 'COMMITTED') {
        assert.equal(sample.canWrite, true);
        assert.equal(sample.info, 'commit completed');
        assert.equal(sample.lagTimeSeconds, 0);
      }
    }
    const order = (values: (string | null)[]): unknown[] => [...new Set(values)];
    assert.deepEqual(order(samples.map(({ state }) => state)), states);
    assert.deepEqual(order(samples.map(({ info }) => info)), infos);
    assert.deepEqual(order(samples.map(({ coordinatorID }) => coordinatorID)).at(-1), 'syncer');
    // Writes are permitted before the commit is through: index validation continues until then.
    assert.ok(samples.some(({ state, canWrite }) => state === 'COMMITTING' && canWrite === false));
    assert.ok(samples.some(({ state, canWrite }) => state === 'COMMITTING' && canWrite === true));

    const totals = samples.map(({ collectionCopy }) => collectionCopy?.estimatedTotalBytes ?? 0);
    assert.deepEqual(
      [...new Set(totals)].filter((total) => total > 0),
      [totals.at(-1)],
    );
    assert.ok((totals.at(-1) ?? 0) >= totalBytes);
    const copied = samples.map(({ collectionCopy }) => collectionCopy?.estimatedCopiedBytes ?? 0);
    assert.deepEqual(
      copied,
      [...copied].sort((left, right) => left - right),
    );
    assert.ok(new Set(copied).size > 2, 'copied bytes are seen to grow');
    await pair.assertEqual();
  });

  it('estimatedTotalBytes is known when start is answered, and stays', async () => {
    const shop = pair.source.client.db('shop');
    await shop.collection('a').insertMany(rows(0, 500));
    const totalBytes = Number((await shop.command({ collStats: 'a' }))['size']);
    await using syncer = await pair.syncer();
    await using slow = await slowCommands(pair.destination, ['create'], 2_000);
    await syncer.start(forward);
    const first = await syncer.progress();
    assert.equal(first.info, 'collection copy');
    assert.equal(first.collectionCopy?.estimatedTotalBytes, totalBytes);
    assert.equal(first.collectionCopy.estimatedCopiedBytes, 0);
    await shop.collection('b').insertMany(rows(0, 500));
    await slow[Symbol.asyncDispose]();
    const { collectionCopy } = await syncer.waitFor(({ canCommit }) => canCommit);
    assert.equal(collectionCopy?.estimatedTotalBytes, totalBytes);
  });

  it('estimatedTotalBytes and estimatedCopiedBytes are those of the initial copy', async () => {
    const shop = pair.source.client.db('shop');
    await shop.collection('a').insertMany(rows(0, 500));
    const totalBytes = Number((await shop.command({ collStats: 'a' }))['size']);
    await using syncer = await pair.syncing();
    const copy = { estimatedTotalBytes: totalBytes, estimatedCopiedBytes: totalBytes };
    assert.deepEqual((await syncer.progress()).collectionCopy, copy);
    await shop.collection('a').insertMany(rows(500, 500));
    // The changes begin where a majority was: it may have been behind the first rows.
    await syncer.waitFor(({ totalEventsApplied }) => (totalEventsApplied ?? 0) >= 500);
    assert.deepEqual((await syncer.progress()).collectionCopy, copy);
    await syncer.kill();
    await syncer.restart();
    await syncer.waitFor(({ canCommit }) => canCommit);
    assert.deepEqual((await syncer.progress()).collectionCopy, copy);
    await commitAndWait(syncer);
    assert.deepEqual((await syncer.progress()).collectionCopy, copy);
  });

  it('lagTimeSeconds is 0 on an idle source', async () => {
    await using syncer = await pair.syncing();
    await syncer.waitFor(({ lagTimeSeconds }) => lagTimeSeconds === 0);
  });

  it('lagTimeSeconds grows while nothing can be applied, and falls again', async () => {
    const items = pair.source.client.db('shop').collection('items');
    await items.insertOne({ n: 0 });
    await using syncer = await pair.syncing();
    const slow = await slowCommands(pair.destination, ['insert', 'update'], 4000);
    try {
      await items.insertOne({ n: 1 });
      const seen = new Set<number>();
      await syncer.waitFor(({ lagTimeSeconds }) => {
        seen.add(lagTimeSeconds ?? -1);
        void items.insertOne({ n: 2 }).catch(() => undefined);
        return (lagTimeSeconds ?? 0) >= 3;
      });
      assert.ok(seen.has(1) || seen.has(2), [...seen].join());
    } finally {
      await slow[Symbol.asyncDispose]();
    }
    await syncer.waitFor(({ lagTimeSeconds }) => (lagTimeSeconds ?? 9) <= 1);
    await commitAndWait(syncer);
    await pair.assertEqual();
  });

  it('lagTimeSeconds is the age of the oldest write that the destination does not have', async () => {
    const items = pair.source.client.db('shop').collection<{ _id: number }>('items');
    const copies = pair.destination.client.db('shop').collection<{ _id: number }>('items');
    await items.insertOne({ _id: 0 });
    await using syncer = await pair.syncing();
    // Until the first changes are read, those since the copy began may all be missing.
    await syncer.waitFor(({ lagTimeSeconds }) => (lagTimeSeconds ?? 9) <= 1);
    const writtenMs = [performance.now()];
    const ended = new AbortController();
    const marking = (async () => {
      while (!ended.signal.aborted) {
        writtenMs.push(performance.now());
        await items.insertOne({ _id: writtenMs.length - 1 });
        await sleep(5, ended.signal).catch(() => undefined);
      }
    })();
    let firstMissing = 0;
    const look = async (): Promise<void> => {
      const found = await copies.find({ _id: { $gte: firstMissing } }).toArray();
      const there = new Set(found.map(({ _id }) => _id));
      while (there.has(firstMissing)) firstMissing++;
    };
    const ageSeconds = (atMs: number): number =>
      Math.max(0, atMs - (writtenMs[firstMissing] ?? atMs)) / 1000;
    let oldest = 0;
    let ages: { readonly atMs: number; readonly seconds: number }[] = [];
    const check = async (): Promise<number> => {
      const most = ageSeconds(performance.now());
      const reported = (await syncer.progress()).lagTimeSeconds ?? NaN;
      const atMs = performance.now();
      await look();
      const least = ageSeconds(atMs);
      oldest = Math.max(oldest, least);
      // Writes are there before the syncer knows it, which on a busy machine takes it seconds. The source is
      // asked once a second, times are whole seconds; and a second for a busy machine.
      ages = ages.filter((age) => age.atMs >= atMs - 3_000);
      ages.push({ atMs, seconds: most }, { atMs, seconds: least });
      const lately = ages.map(({ seconds }) => seconds);
      const [lowest, highest] = [Math.min(...lately), Math.max(...lately)];
      const text = `reported ${reported}, true in the last seconds from ${lowest} to ${highest}`;
      assert.ok(reported >= lowest - 3 && reported <= highest + 3, text);
      return reported;
    };
    try {
      const slow = await slowCommands(pair.destination, ['insert', 'update'], 5_000);
      try {
        const endMs = performance.now() + 14_000;
        while (performance.now() < endMs) await check();
      } finally {
        await slow[Symbol.asyncDispose]();
      }
      assert.ok(oldest > 6, `the lag was ${oldest} s at the most`);
      await until('a lag of a second', async () => (await check()) <= 1);
    } finally {
      ended.abort();
      await marking;
    }
  });

  it('lagTimeSeconds grows while nothing is heard of the source', async () => {
    await pair.source.client.db('shop').collection('items').insertMany(rows(0, 100));
    await using syncer = await pair.syncing();
    const [member] = pair.source.set.members;
    assert.ok(member);
    await pair.source.set.kill(member, 'SIGSTOP');
    try {
      await syncer.waitFor(({ lagTimeSeconds }) => (lagTimeSeconds ?? 0) >= 5);
      assert.equal((await syncer.progress()).estimatedSecondsToCatchUp, null);
    } finally {
      await pair.source.set.kill(member, 'SIGCONT');
    }
    await syncer.waitFor(({ lagTimeSeconds }) => (lagTimeSeconds ?? 9) <= 1);
    await commitAndWait(syncer);
    await pair.assertEqual();
  });

  it('a syncer that was stopped for a while catches up', async () => {
    const items = pair.source.client.db('shop').collection('items');
    await items.insertMany(rows(0, 100));
    await using syncer = await pair.syncing();
    await syncer.kill('SIGSTOP');
    const endMs = performance.now() + 2_500;
    while (performance.now() < endMs) await items.insertMany(rows(0, 100));
    await syncer.kill('SIGCONT');
    const count = await items.countDocuments();
    const copies = pair.destination.client.db('shop').collection('items');
    await until('the copy of all', async () => (await copies.countDocuments()) === count);
    await syncer.waitFor(({ lagTimeSeconds }) => (lagTimeSeconds ?? 9) <= 1);
    await commitAndWait(syncer);
    await pair.assertEqual();
  });

  it('syncerID is the name given by --id, and so is coordinatorID when it is alone', async () => {
    await using syncer = await pair.syncing({}, { options: { id: 'shard-7' } });
    const { syncerID, coordinatorID } = await syncer.progress();
    assert.deepEqual(
      { syncerID, coordinatorID },
      { syncerID: 'shard-7', coordinatorID: 'shard-7' },
    );
  });
});

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

function rows(first: number, count: number): { n: number; at: Date; text: string }[] {
  return Array.from({ length: count }, (_, index) => ({
    n: first + index,
    at: new Date(),
    text: 'x'.repeat(100),
  }));
}

interface Recording extends AsyncDisposable {
  stop(): Promise<SyncerProgress[]>;
}

/** Asks for the progress again and again from the start of the sync on. */
function record(syncer: SyncerProcess): Recording {
  const samples: SyncerProgress[] = [];
  const end = new AbortController();
  const recorded = (async () => {
    while (!end.signal.aborted) {
      const progress = await syncer.waitFor(() => true);
      if (progress.state !== 'IDLE') samples.push(progress);
    }
  })();
  recorded.catch(() => undefined);
  return {
    async stop() {
      end.abort();
      await recorded;
      return samples;
    },
    async [Symbol.asyncDispose]() {
      end.abort();
      await recorded.catch(() => undefined);
    },
  };
}
