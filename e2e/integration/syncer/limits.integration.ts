import assert from 'node:assert/strict';
import type { SyncerProcess } from '../../ground/syncer-process.ts';
import { until } from '../../ground/until.ts';
import { commitAndWait, endPreparation, forward, useClusterPair } from './cluster-pair.ts';
import { startNumbered } from './instances.ts';
import { writeSteadily } from './steady-writes.ts';

const success = { status: 200, body: { success: true } };

const unlimited = {
  copyBytesPerSecond: null,
  copyDocumentsPerSecond: null,
  changesPerSecond: null,
  concurrentBatches: null,
};

/** What passes is bounded from above, from before the limit holds: no machine is too slow for that. */
class Bound {
  readonly #beganMs = performance.now();
  readonly #rate: number;
  readonly #before: number;

  /** @param before - what there was. */
  constructor(rate: number, before = 0) {
    this.#rate = rate;
    this.#before = before;
  }

  /** @param count - as it was before the call. */
  hold(count: number): void {
    const seconds = (performance.now() - this.#beganMs) / 1000;
    const most = this.#before + this.#rate * (seconds + 1);
    assert.ok(count <= most, `${count} are more than ${most} after ${seconds} seconds`);
  }
}

describe('limits', () => {
  // Large enough for all that these tests write in a minute: the limit of changes does not yield to it.
  const pair = useClusterPair({ oplogSizeMB: 16_384 });
  beforeEach(async () => {
    await pair.reset();
  });

  async function countCopied(): Promise<number> {
    return await pair.destination.client.db('shop').collection('a').countDocuments();
  }

  async function fill(documents: number, bytes: number): Promise<void> {
    await pair.source.client
      .db('shop')
      .collection('a')
      .insertMany(rows(0, documents, bytes));
    await endPreparation(pair.source);
  }

  async function limit(syncer: SyncerProcess, limits: object): Promise<void> {
    assert.deepEqual(await syncer.post('limits', limits), success);
    const { limits: told } = await syncer.progress();
    assert.deepEqual(told?.requested, limits);
  }

  it('of documents hold from the start, are changed while the sync runs, and outlive a killed process', async () => {
    await fill(3_000, 100);
    await using syncer = await pair.syncer();
    const bound = new Bound(200);
    const limits = { maxCopyDocumentsPerSecond: 200 };
    await syncer.start({ ...forward, limits });
    await until('more than a burst is copied', async () => {
      const copied = await countCopied();
      bound.hold(copied);
      return copied > 300;
    });
    const { limits: told, warnings } = await syncer.waitFor(
      ({ limits: now }) => now?.heldBackBy.length === 1,
    );
    assert.deepEqual(told?.requested, limits);
    assert.deepEqual(told.allowed, { ...unlimited, copyDocumentsPerSecond: 200 });
    assert.deepEqual(told.heldBackBy, ['maxCopyDocumentsPerSecond']);
    assert.ok(told.shareOfLastMinute.copy > 0);
    assert.deepEqual(limitWarnings(warnings), []);
    const metrics = await (await fetch(`${syncer.url}/metrics`)).text();
    assert.match(metrics, /^clustersync_syncer_allowed_copy_documents_per_second 200$/m);
    assert.match(metrics, /^clustersync_syncer_held_back_seconds_total\{work="copy"\} [0-9.]+$/m);

    const slow = { maxCopyDocumentsPerSecond: 1 };
    await limit(syncer, slow);
    await syncer.kill();
    const before = await countCopied();
    const restarted = new Bound(1, before);
    await syncer.restart();
    const later = await syncer.waitFor(({ limits: now }) => now?.heldBackBy.length === 1);
    assert.deepEqual(later.limits?.requested, slow);
    restarted.hold(await countCopied());

    await limit(syncer, {});
    const ended = await syncer.waitFor(({ canCommit }) => canCommit);
    assert.deepEqual(ended.limits?.allowed, unlimited);
    await commitAndWait(syncer);
    await pair.assertEqual();
  });

  it('of documents hold for those that a copy brings to a collection that is there', async () => {
    await fill(300, 100);
    await pair.destination.client.db('shop').collection('a').insertOne({ n: -1 });
    await using syncer = await pair.syncer();
    const limits = { maxCopyDocumentsPerSecond: 1, maxConcurrentBatches: 1 };
    const bound = new Bound(1);
    await syncer.start({ ...forward, initialData: 'Present', limits });
    await until('more than a burst is copied', async () => {
      const copied = await countCopied();
      bound.hold(copied);
      return copied > 2;
    });
    await limit(syncer, {});
    await syncer.waitFor(({ canCommit }) => canCommit);
    await commitAndWait(syncer);
    await pair.assertEqual();
  });

  it('of bytes hold, whatever the size of the documents', async () => {
    await fill(400, 10_000);
    const rate = 1024 * 1024;
    await using syncer = await pair.syncer();
    const bound = new Bound(rate);
    await syncer.start({ ...forward, limits: { maxCopyBytesPerSecond: rate } });
    await until('everything is copied', async () => {
      const { canCommit, collectionCopy } = await syncer.progress();
      bound.hold(collectionCopy?.estimatedCopiedBytes ?? 0);
      return canCommit;
    });
    const { collectionCopy, limits } = await syncer.progress();
    assert.ok((collectionCopy?.estimatedCopiedBytes ?? 0) > 400 * 10_000);
    assert.ok((limits?.secondsHeldBack.copy ?? 0) > 0);
    await commitAndWait(syncer);
    await pair.assertEqual();
  });

  it('of changes hold; a pause does not wait for what they hold back, and a commit lifts them', async () => {
    await fill(10, 100);
    await using syncer = await pair.syncing({ limits: { maxChangesPerSecond: 10 } });
    const { totalEventsApplied: before } = await syncer.progress();
    const bound = new Bound(10, before ?? 0);
    await pair.source.client
      .db('shop')
      .collection('a')
      .insertMany(rows(10, 20_000, 100));
    await until('more than a burst is applied', async () => {
      const { totalEventsApplied } = await syncer.progress();
      bound.hold(totalEventsApplied ?? 0);
      return (totalEventsApplied ?? 0) > (before ?? 0) + 20;
    });
    const held = await syncer.waitFor(({ limits: now }) => now?.heldBackBy.length === 1);
    assert.deepEqual(held.limits?.heldBackBy, ['maxChangesPerSecond']);
    assert.deepEqual(limitWarnings(held.warnings), []);
    assert.equal(held.canCommit, true);

    assert.deepEqual(await syncer.post('pause', {}), success);
    assert.equal((await syncer.progress()).state, 'PAUSED');
    // Limits are taken in this state, too.
    await limit(syncer, { maxChangesPerSecond: 5 });
    assert.deepEqual(await syncer.post('resume', {}), success);
    await syncer.waitFor(({ limits: now, canCommit }) => canCommit && now?.heldBackBy.length === 1);
    // At this rate it would take more than an hour.
    await commitAndWait(syncer);
    await pair.assertEqual();
  });

  it('of batches, and of the time of the day, hold in the place of others', async () => {
    await fill(2_000, 5_000);
    await using syncer = await pair.syncer();
    const allDay = { from: '12:00', to: '12:00', timeZone: 'Europe/Berlin' };
    const schedule = [{ ...allDay, maxConcurrentBatches: 1 }];
    const limits = { maxConcurrentBatches: 7, maxChangesPerSecond: 1_000_000, schedule };
    await syncer.start({ ...forward, limits });
    const { limits: told } = await syncer.waitFor(({ canCommit }) => canCommit);
    assert.deepEqual(told?.requested, limits);
    const allowed = { ...unlimited, changesPerSecond: 1_000_000, concurrentBatches: 1 };
    assert.deepEqual(told.allowed, allowed);
    await commitAndWait(syncer);
    await pair.assertEqual();
  });

  it('given to one of two instances hold for both together, and the other takes them from the record', async () => {
    await fill(2_000, 100);
    const options = { partitionMebibytes: 0.05 };
    await using instances = await startNumbered(pair, 2, { options });
    const [one, other] = instances.all;
    assert.ok(one && other);
    await instances.start({ limits: { maxCopyDocumentsPerSecond: 2 } });
    await instances.waitFor(({ limits }) => limits?.allowed.copyDocumentsPerSecond === 1);
    const bound = new Bound(100, await countCopied());
    await limit(one, { maxCopyDocumentsPerSecond: 100 });
    await instances.waitFor(({ limits }) => limits?.allowed.copyDocumentsPerSecond === 50);
    const before = await countCopied();
    await until('more than a burst is copied', async () => {
      const copied = await countCopied();
      bound.hold(copied);
      return copied > before + 200;
    });
    const both = await instances.waitFor(({ limits }) => limits?.heldBackBy.length === 1);
    for (const { limits } of both)
      assert.deepEqual(limits?.requested, { maxCopyDocumentsPerSecond: 100 });
    await limit(other, {});
    await instances.waitFor(({ canCommit }) => canCommit);
    await instances.commit();
    await instances.waitFor(({ state }) => state === 'COMMITTED');
    await pair.assertEqual();
  });

  it('are refused without a sync, for another one, and if they are none', async () => {
    await fill(1, 1);
    await using syncer = await pair.syncer();
    const errorOf = async (body: object, digest?: string): Promise<unknown> =>
      (await syncer.post('limits', body, digest === undefined ? undefined : { digest })).body[
        'error'
      ];
    assert.equal(await errorOf({}), 'InvalidStateTransition');
    const wrong = { ...forward, limits: { maxCopyBytesPerSecond: 1 } };
    assert.equal((await syncer.post('start', wrong)).body['error'], 'InvalidBody');
    await syncer.start(forward);
    for (const body of [
      { maxCopyBytesPerSecond: 1 },
      { maxChangesPerSecond: 0 },
      { maxChangesPerSecond: 1.5 },
      { maxConcurrentBatches: '7' },
      { bytesPerSecond: 7 },
      { holdBack: { minFreeDiskPercent: 101 } },
      { holdBack: { maxReplicationLagSeconds: 0 } },
      { schedule: [{ from: '08:00', to: '18:00', holdBack: {} }] },
      { schedule: [{ from: '08:00', to: '24:00' }] },
      { schedule: [{ from: '08:00', to: '18:00', timeZone: 'Europe/Atlantis' }] },
    ])
      assert.equal(await errorOf(body), 'InvalidBody', JSON.stringify(body));
    assert.equal(await errorOf({}, '0'.repeat(64)), 'DifferentSync');
    assert.deepEqual((await syncer.progress()).limits?.requested, {});
  });

  it('are refused if they leave one of several instances too little, with the least that is accepted', async () => {
    await fill(1, 1);
    await using instances = await startNumbered(pair, 2);
    const [first] = instances.all;
    assert.ok(first);
    const little = { maxCopyDocumentsPerSecond: 1 };
    const requireRefused = async (command: string, body: object): Promise<void> => {
      const { status, body: answer } = await first.post(command, body);
      assert.equal(answer['error'], 'InvalidBody', `${command}: ${status}`);
      assert.match(String(answer['errorDescription']), /2 instances need at least 2:/);
    };
    for (const command of ['preflight', 'check', 'start'])
      await requireRefused(command, { ...forward, limits: little });
    const enough = { maxCopyDocumentsPerSecond: 2 };
    await instances.start({ ...forward, limits: enough });
    await requireRefused('limits', little);
    await requireRefused('limits', { schedule: [{ from: '08:00', to: '18:00', ...little }] });
    const { limits } = await first.progress();
    assert.deepEqual(limits?.requested, enough);
    assert.equal(limits.allowed.copyDocumentsPerSecond, 1);
  });
});

describe('the limit of changes while the oplog is short', () => {
  const pair = useClusterPair({ oplogSizeMB: 16 });

  it('yields to it, and says so; or stays, and says what that leads to', async () => {
    const items = pair.source.client.db('shop').collection('a');
    await items.insertMany(rows(0, 10, 100));
    const limits = { maxChangesPerSecond: 1 };
    await using syncer = await pair.syncing({ limits: { ...limits, oplogFirst: false } });
    // Some 50 KB/s, of which 16 MiB hold less than an hour.
    const writes = writeSteadily(items, 5_000);
    try {
      const staying = await syncer.waitFor(({ warnings }) => limitWarnings(warnings).length > 0);
      assert.match(limitWarnings(staying.warnings).join(), /the sync is about to be lost/);
      assert.equal(staying.limits?.allowed.changesPerSecond, 1);
      await until('it is logged', async () =>
        (await syncer.log()).includes('"warning":"limits: the oplog of cluster0 runs short'),
      );

      assert.deepEqual(await syncer.post('limits', limits), success);
      const { limits: yielding, warnings } = await syncer.progress();
      assert.equal(yielding?.allowed.changesPerSecond, null);
      assert.match(limitWarnings(warnings).join(), /maxChangesPerSecond does not apply/);
      // At the limit, the lag would grow as long as there are writes.
      await syncer.waitFor(({ estimatedSecondsToCatchUp }) => estimatedSecondsToCatchUp === 0);
    } finally {
      await writes.stop();
    }
    await commitAndWait(syncer);
    await pair.assertEqual();
  });
});

function limitWarnings(warnings: readonly string[] | null): string[] {
  return (warnings ?? []).filter((text) => text.startsWith('limits: '));
}

function rows(from: number, count: number, bytes: number): { n: number; text: string }[] {
  const text = 'x'.repeat(bytes);
  return Array.from({ length: count }, (_, index) => ({ n: from + index, text }));
}
