import assert from 'node:assert/strict';
import { createHook } from 'node:async_hooks';
import { BSON, type Document } from 'mongodb';
import { createLogger } from '../../../service/logger.ts';
import { compileOptions } from '../../../service/options.ts';
import { Syncer } from '../../../syncer/lifecycle/syncer.ts';
import { syncerOptionTable } from '../../../syncer/options/syncer-options.ts';
import type { SyncerProcess } from '../../ground/syncer-process.ts';
import { until } from '../../ground/until.ts';
import { commitAndWait, endPreparation, forward, useClusterPair } from './cluster-pair.ts';
import { canBeSlow, failCommands, failCommandsWith } from './slow-commands.ts';

/** Bounds on the work that a sync does, by counts: none of it is about time. */
describe('a sync does its work once', () => {
  const pair = useClusterPair({ parameters: canBeSlow });
  beforeEach(async () => {
    await pair.reset();
  });

  /** How many documents the source has sent to anybody. */
  async function returned(): Promise<number> {
    const { metrics } = (await pair.source.client.db('admin').command({ serverStatus: 1 })) as {
      readonly metrics: { readonly document: { readonly returned: number } };
    };
    return metrics.document.returned;
  }

  it('the copy reads each document of a collection once, whether in partitions, as a whole or with others', async () => {
    const shop = pair.source.client.db('shop');
    const collections = { partitioned: 2_000, whole: 400, small: 20 };
    let documents = 0;
    let bytes = 0;
    for (const [name, count] of Object.entries(collections)) {
      const rows = rowsOf(count);
      await shop.collection<Row>(name).insertMany(rows);
      documents += count;
      bytes += rows.reduce((sum, row) => sum + BSON.calculateObjectSize(row), 0);
    }
    await endPreparation(pair.source);
    await using syncer = await pair.syncer({ options: { partitionMebibytes: 0.5 } });
    const before = await returned();
    await syncer.start(forward);
    const { collectionCopy } = await syncer.waitFor(({ canCommit }) => canCommit);
    const read = (await returned()) - before;
    const log = await syncer.log();
    assert.ok(log.split('"msg":"partition copied"').length > 4, 'it is copied in partitions');
    assert.equal(collectionCopy?.estimatedCopiedBytes, bytes);
    // The sample of the _ids, the catalog and the oplog are read as well.
    assert.ok(read >= documents && read < 1.5 * documents, `${read} of ${documents} documents`);
    await commitAndWait(syncer);
    await pair.assertEqual();
  });

  it('what is copied again after an error counts once: a percentage is never too high', async () => {
    const { source, destination } = pair;
    const shop = source.client.db('shop');
    let bytes = 0;
    // The large one takes several fetches, and the small ones are copied together.
    for (const [name, count] of Object.entries({ large: 12_000, small: 20, other: 20 })) {
      const rows = rowsOf(count);
      await shop.collection<Row>(name).insertMany(rows);
      bytes += rows.reduce((sum, row) => sum + BSON.calculateObjectSize(row), 0);
    }
    await endPreparation(source);
    await using syncer = await pair.syncer();
    const shutdownInProgress = 91;
    {
      // The first insert passes.
      const [code, skipped] = [shutdownInProgress, 1];
      await using large = await failCommandsWith(
        destination,
        ['insert'],
        code,
        'shop.large',
        skipped,
      );
      await syncer.start(forward);
      await large.reached(2);
    }
    {
      await using small = await failCommands(destination, ['insert'], 'shop.small');
      await small.reached(1);
    }
    const { collectionCopy } = await syncer.waitFor(({ canCommit }) => canCommit);
    assert.equal(collectionCopy?.estimatedCopiedBytes, bytes);
    await commitAndWait(syncer);
    await pair.assertEqual();
  });

  it('a change stream that breaks is continued after what has been read: no event is applied again', async () => {
    const { source } = pair;
    const items = source.client.db('shop').collection<Row>('items');
    await source.client.db('shop').createCollection('items');
    await endPreparation(source);
    await using syncer = await pair.syncing();
    await items.insertMany(rowsOf(50));
    await untilApplied(syncer, 50);
    {
      await using broken = await failCommands(source, ['getMore'], 'admin.$cmd.aggregate');
      await broken.reached(1);
    }
    await items.deleteOne({ _id: 0 });
    await untilApplied(syncer, 51);
    assert.match(await syncer.log(), /reopening the change stream/);
    await commitAndWait(syncer);
    assert.equal(await eventsLogged(syncer), 51);
    await pair.assertEqual();
  });

  it('a process that is killed leaves a checkpoint: the next one applies none of the events before it again', async () => {
    const { source, destination } = pair;
    const items = source.client.db('shop').collection<Row>('items');
    await source.client.db('shop').createCollection('items');
    await endPreparation(source);
    await using syncer = await pair.syncing();
    const instances = destination.client.db('clustersync_internal').collection('instances');
    // More than one checkpoint, as the first one could be stored at once.
    for (const [round, count] of [50, 100].entries()) {
      await items.insertMany(rowsOf(50, round * 50));
      await untilApplied(syncer, count);
      await until(
        'a checkpoint covers them',
        async () => (await instances.findOne())?.['eventsApplied'] === count,
      );
    }
    await syncer.kill();
    await syncer.restart();
    await syncer.waitFor(({ canCommit }) => canCommit);
    await items.deleteOne({ _id: 0 });
    await untilApplied(syncer, 101);
    await commitAndWait(syncer);
    assert.equal(await eventsLogged(syncer), 101);
    await pair.assertEqual();
  });

  it('neither a fetch of the copy nor a batch of changes waits for time to pass', async () => {
    const { source, destination } = pair;
    const items = source.client.db('shop').collection<Row>('items');
    await items.insertMany(rowsOf(1_000));
    await endPreparation(source);
    const logged: string[] = [];
    const logger = createLogger('syncer', 'debug', (line) => logged.push(line));
    const flags = {
      cluster0: source.set.uri('syncer'),
      cluster1: destination.set.uri('syncer'),
      host: '127.0.0.1',
      port: '0',
      partitionMebibytes: '0.1',
    };
    const options = compileOptions(syncerOptionTable, { flags, env: {} });
    const stop = new AbortController();
    const syncer = new Syncer(options, logger);
    const ended = syncer.run(stop.signal);
    using waits = countWaits();
    try {
      await until('it is ready', () => syncer.isReady);
      await syncer.start(forward);
      await until('all is copied', () => syncer.progress().progress.canCommit);
      const parts = logged.filter((line) => line.includes('"msg":"partition copied"')).length;
      assert.ok(parts >= 5, `${parts} partitions`);
      assert.ok(waits.begun.length < parts, waits.begun.join('\n'));
      waits.begun.length = 0;
      // Each comes in a batch of its own.
      const changes = 10;
      for (let n = 1; n <= changes; n++) {
        await items.deleteOne({ _id: n });
        await until('it is applied', () => syncer.monitor.eventsApplied >= n);
      }
      assert.ok(waits.begun.length < changes, waits.begun.join('\n'));
    } finally {
      stop.abort(new Error('the test has ended'));
      await ended;
    }
  });
});

interface Row extends Document {
  readonly _id: number;
}

function rowsOf(count: number, first = 0): Row[] {
  const text = 'x'.repeat(1_000);
  return Array.from({ length: count }, (_, index) => ({ _id: first + index, text }));
}

async function untilApplied(syncer: SyncerProcess, events: number): Promise<void> {
  await syncer.waitFor(({ totalEventsApplied }) => (totalEventsApplied ?? 0) >= events);
}

/** How many events the processes of a syncer have taken from the change stream to apply them. */
async function eventsLogged(syncer: SyncerProcess): Promise<number> {
  return (await syncer.log()).split('"msg":"event"').length - 1;
}

/** The folders of the syncer through which documents and changes go. */
const pathOfData = /\/syncer\/(?:changes|copy|destination|source|store)\//;

/** What is asked at intervals: for writes of applyOps, beside the changes, and for the end of what an earlier process has sent. */
const besideData = /\/(?:watch-applied-ops|earlier-writes)\.ts:/;

/** Records the timers that code on the path of the data begins in this process, by the lines that begin them, until it is disposed of. */
function countWaits(): Disposable & { readonly begun: string[] } {
  const begun: string[] = [];
  const hook = createHook({
    init(_id, type) {
      if (type !== 'Timeout') return;
      // Those of the driver are limits, not waits.
      const beginner = (new Error().stack ?? '')
        .split('\n')
        .slice(2)
        .filter((line) => !line.includes('node:'))
        .find((line) => !line.includes('/service/sleep.ts'));
      if (beginner !== undefined && pathOfData.test(beginner) && !besideData.test(beginner))
        begun.push(beginner.trim());
    },
  });
  hook.enable();
  return {
    begun,
    [Symbol.dispose]: () => {
      hook.disable();
    },
  };
}
