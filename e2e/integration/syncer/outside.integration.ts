import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Document } from 'mongodb';
import { hidesAppliedOps } from '../../../mongo/oplog.ts';
import { metricsOf, metricsText } from '../../ground/syncer-metrics.ts';
import type { SyncerProcess, SyncerProgress } from '../../ground/syncer-process.ts';
import { commitAndWait, endPreparation, forward, useClusterPair } from './cluster-pair.ts';
import { canBeSlow, holdCommands, slowCommands } from './slow-commands.ts';
import { workOffSteadily, type WorkedOff } from './steady-backlog.ts';
import { writeSteadily } from './steady-writes.ts';
import { withUser } from './source-user.ts';
import { until } from '../../ground/until.ts';

describe('a sync seen from outside', () => {
  const pair = useClusterPair({ parameters: canBeSlow, oplogSizeMB: 16 });
  beforeEach(async () => {
    await pair.reset();
  });

  it('logs its steps, its figures and its estimates', async () => {
    const shop = pair.source.client.db('shop');
    for (let number = 0; number < 30; number++)
      await shop.collection(`c${number}`).insertMany(rows(0, 10));
    for (const name of ['c1', 'c2', 'c3', 'c4']) {
      await shop.command({
        createIndexes: name,
        indexes: [
          { key: { n: 1 }, name: 'n', unique: true },
          { key: { text: 1 }, name: 'text' },
        ],
      });
    }
    await endPreparation(pair.source);
    await using syncer = await pair.syncer({ options: { id: 'syncer', copyWorkers: 1 } });
    const startedMetrics = await metricsOf(syncer);
    assert.equal(startedMetrics.get('clustersync_syncer_state{state="IDLE"}'), 1);
    assert.equal(startedMetrics.has('clustersync_syncer_lag_seconds'), false, 'not known');

    // The building of indexes.
    {
      await using slow = await slowCommands(pair.destination, ['createIndexes'], 8_000, 'shop.c4');
      await syncer.start({ ...forward, buildIndexes: 'afterDataCopy' });
      // In the meantime those of the other collections are built, two at a time.
      const { indexBuilding } = await syncer.waitFor(
        (progress) => (progress.indexBuilding?.collectionsFinished ?? 0) >= 29,
      );
      assert.deepEqual(indexBuilding, {
        totalIndexesToBuild: 8,
        indexesBuilt: 6,
        collectionsTotal: 30,
        collectionsFinished: 29,
      });
      await slow[Symbol.asyncDispose]();
    }
    const copied = await syncer.waitFor(({ canCommit }) => canCommit);
    assert.equal(copied.indexBuilding, null);

    // Changes, and what the metrics make of them.
    for (let batch = 0; batch < 5; batch++)
      await shop.collection('c0').insertMany(rows(10 + batch * 1000, 1000));
    await shop.collection('c1').updateOne({ n: 1 }, { $set: { text: 'changed' } });
    await shop.collection('c2').deleteOne({ n: 2 });
    await shop.collection('c5').rename('renamed');
    await shop.collection('c6').drop();
    await shop.command({ createIndexes: 'c7', indexes: [{ key: { n: -1 }, name: 'later' }] });
    let events = 5_005;
    await syncer.waitFor(({ totalEventsApplied }) => (totalEventsApplied ?? 0) >= events);
    const metrics = await metricsOf(syncer);
    const expected: readonly (readonly [string, number])[] = [
      ['state{state="RUNNING"}', 1],
      ['state{state="IDLE"}', 0],
      ['phase{phase="changes"}', 1],
      ['phase{phase="copy"}', 0],
      ['failed', 0],
      ['restarts', 0],
      ['copied_documents_total', 300],
      ['events_applied_total{kind="insert"}', 5000],
      ['events_applied_total{kind="update"}', 1],
      ['events_applied_total{kind="delete"}', 1],
      ['events_applied_total{kind="rename"}', 1],
      ['events_applied_total{kind="drop"}', 1],
      ['events_applied_total{kind="createIndexes"}', 1],
    ];
    for (const [name, value] of expected)
      assert.equal(metrics.get(`clustersync_syncer_${name}`), value, name);
    const copiedBytes = copied.collectionCopy?.estimatedCopiedBytes;
    assert.equal(metrics.get('clustersync_syncer_copied_bytes_total'), copiedBytes);
    assert.ok((metrics.get('clustersync_syncer_oplog_window_seconds') ?? -1) >= 0);
    assert.ok((metrics.get('nodejs_eventloop_lag_p99_seconds') ?? -1) >= 0);
    await assertDocumented(syncer);

    // What is estimated of a backlog against what happens then.
    const worked = await workOffSteadily(syncer, { ...pair, source: shop }, events);
    ({ events } = worked);
    assertEstimatesTrue(worked);
    await syncer.waitFor(({ estimatedSecondsToCatchUp }) => estimatedSecondsToCatchUp === 0);

    await commitAndWait(syncer);
    const committed = await syncer.progress();
    assert.equal(committed.estimatedSecondsToCatchUp, null);
    assert.equal(committed.estimatedOplogTimeRemainingSeconds, null);
    const endMetrics = await metricsOf(syncer);
    assert.equal(endMetrics.get('clustersync_syncer_lag_seconds'), 0);
    assert.equal(endMetrics.has('clustersync_syncer_catch_up_seconds'), false);
    await pair.assertEqual();
    assertStory(await logOf(syncer), events);
  });

  it('warns when the oplog of the source runs short, for as long as it does', async () => {
    const { client } = pair.source;
    const shop = client.db('shop');
    await shop.collection('c').insertOne({ n: 0 });
    await using syncer = await pair.syncing();
    const isShort = ({ warnings }: SyncerProgress): boolean =>
      warnings?.some((warning) => warning.startsWith('the oplog of cluster0 runs short')) ?? false;
    // Some 50 KB/s, of which 16 MiB hold less than an hour, and 990 MiB more.
    const writes = writeSteadily(shop.collection('c'), 5_000);
    try {
      /** It changes with the pace of the writes, which the machine has a part in. */
      const assertEstimate = ({ estimatedOplogTimeRemainingSeconds }: SyncerProgress): void => {
        const seconds = estimatedOplogTimeRemainingSeconds ?? NaN;
        assert.ok(seconds > 60 && seconds < 3600, String(seconds));
      };
      assertEstimate(await syncer.waitFor(isShort));
      // It matters while the sync is paused, too.
      await syncer.post('pause', {});
      const paused = await syncer.waitFor((now) => now.state === 'PAUSED' && isShort(now));
      assertEstimate(paused);
      assert.equal(paused.estimatedSecondsToCatchUp, null);
      assert.equal(paused.lagTimeSeconds, null);
      await client.db('admin').command({ replSetResizeOplog: 1, size: 990 });
      const longer = await syncer.waitFor((progress) => !isShort(progress));
      assert.ok((longer.estimatedOplogTimeRemainingSeconds ?? 0) > 3600);
      assert.deepEqual(longer.warnings, []);
      await syncer.post('resume', {});
    } finally {
      await writes.stop();
    }
    const log = await logOf(syncer);
    assert.equal(log.filter(({ msg }) => msg === 'warning').length, 1);
    assert.equal(
      log.filter(({ msg }) => msg === 'the oplog window is large enough again').length,
      1,
    );
    await syncer.waitFor(({ canCommit }) => canCommit);
    await commitAndWait(syncer);
    await pair.assertEqual();
  });

  it('counts its restarts, and what it holds', async () => {
    const items = pair.source.client.db('shop').collection('c');
    await items.insertOne({ n: 0 });
    await using syncer = await pair.syncing();
    const metric = async (name: string): Promise<number> =>
      (await metricsOf(syncer)).get(`clustersync_syncer_${name}`) ?? NaN;
    assert.equal(await metric('restarts'), 0);
    for (const restarts of [1, 2]) {
      await syncer.kill(restarts === 1 ? 'SIGKILL' : 'SIGTERM');
      await syncer.restart();
      await syncer.waitFor(({ canCommit }) => canCommit);
      assert.equal(await metric('restarts'), restarts);
    }
    await syncer.post('pause', {});
    const instances = pair.destination.client.db('clustersync_internal').collection('instances');
    const holder = async (): Promise<unknown> => (await instances.findOne())?.['incarnation'];
    const former = await holder();
    await syncer.kill();
    await syncer.restart();
    // There is nothing that it could work on.
    await until('it has the place of the former process', async () => (await holder()) !== former);
    await syncer.post('resume', {});
    await syncer.waitFor(({ canCommit }) => canCommit);
    assert.equal(await metric('restarts'), 3);

    await until('nothing is held', async () => (await metric('buffered_events')) === 0);
    {
      await using held = await holdCommands(pair.destination, 'insert', 'shop.c');
      await items.insertMany(rows(1, 100));
      await held.reached(1);
      await until('all is read', async () => (await metric('buffered_events')) === 100);
      assert.ok((await metric('buffered_bytes')) > 100 * 50);
      // A batch that is held holds up what others have applied: it would have to be applied again.
      await items.deleteOne({ n: 0 });
      await until('more is read', async () => (await metric('buffered_events')) === 101);
    }
    await until('all is applied', async () => (await metric('buffered_events')) === 0);
    assert.equal(await metric('buffered_bytes'), 0);
    await commitAndWait(syncer);
    await pair.assertEqual();
  });

  for (const allowed of ['local', 'serverStatus'] as const) {
    const missing = allowed === 'local' ? 'serverStatus' : 'local';
    it(`works for a user of the source who may not read ${missing}, and says once what it cannot see`, async () => {
      const shop = pair.source.client.db('shop');
      await shop.collection('c').insertOne({ n: 0 });
      await using user = await withUser(pair.source, [allowed]);
      await using syncer = await pair.syncing({}, { cluster0: user.uri });
      await shop.collection('c').insertOne({ n: 1 });
      if (allowed === 'local') {
        await until('the oplog is seen', async () => {
          return (await metricsOf(syncer)).has('clustersync_syncer_oplog_window_seconds');
        });
      } else {
        await until('it is told of', async () => (await syncer.log()).includes(unknown));
        // Two more readings, if there were any.
        await sleep(5_000);
        assert.equal((await syncer.progress()).estimatedOplogTimeRemainingSeconds, null);
      }
      const admin = pair.source.client.db('admin');
      const isOplogNeeded = await hidesAppliedOps({ admin }, AbortSignal.timeout(10_000));
      const { warnings } = await syncer.progress();
      assert.deepEqual(
        warnings?.map((warning) => warning.replace(/ \(as .*| is unknown.*/, '')),
        allowed === 'local'
          ? []
          : [
              'how long the oplog of cluster0 lasts',
              ...(isOplogNeeded ? ['the user of cluster0 may not read local.oplog.rs'] : []),
            ],
      );
      await commitAndWait(syncer);
      await pair.assertEqual();
      const refused = (await logOf(syncer)).filter(({ reason }) =>
        String(reason).includes('not authorized'),
      );
      assert.deepEqual(
        refused.map(({ level, msg }) => [level, msg]),
        allowed === 'local' ? [] : [['warn', unknown]],
      );
    });
  }
});

const unknown = 'the oplog window is unknown';

function rows(first: number, count: number): Document[] {
  return Array.from({ length: count }, (_, index) => ({
    _id: `customer-${first + index}`,
    n: first + index,
    text: `x${first + index}`,
  }));
}

/** All samples of /metrics, by name and labels. */
/** The page of the reference names what is served, with its type, and nothing else. */
async function assertDocumented(syncer: SyncerProcess): Promise<void> {
  const page = await readFile(
    new URL('../../../docs/reference/metrics.md', import.meta.url),
    'utf8',
  );
  const documented = [...page.matchAll(/^\| `(clustersync_syncer_\w+)` *\| (\w+) /gm)];
  const served = [...(await metricsText(syncer)).matchAll(/^# TYPE (clustersync_\w+) (\w+)$/gm)];
  const entries = (matches: readonly RegExpExecArray[]): string[] =>
    matches.map(([, name, type]) => `${String(name)} ${String(type)}`).sort();
  assert.ok(documented.length > 10);
  assert.deepEqual(entries(served), entries(documented));
}

type LogLine = Readonly<Record<string, unknown>>;

async function logOf(syncer: SyncerProcess): Promise<LogLine[]> {
  const lines = (await syncer.log()).split('\n').filter((line) => line !== '');
  return lines.map((line) => JSON.parse(line) as LogLine);
}

/** What was estimated fell, three quarters of it held, and the rest was not far off. */
function assertEstimatesTrue({ samples, endMs }: WorkedOff): void {
  const known = samples.filter(({ seconds }) => seconds !== null && seconds > 0);
  const told = samples
    .filter((_, index) => index % 25 === 0)
    .map(({ atMs, seconds }) => `${seconds} s with ${Math.round(endMs - atMs)} ms to go`);
  const falls = new Set(known.map(({ seconds }) => seconds)).size >= 3;
  assert.ok(falls, `it falls: ${told.join(', ')}`);
  const beyond = (factor: number, seconds: number): string[] =>
    known.flatMap(({ atMs, seconds: told }) => {
      const truth = (endMs - atMs) / 1000;
      const estimate = told ?? NaN;
      const holds = estimate <= factor * truth + seconds && truth <= factor * estimate + seconds;
      return holds ? [] : [`${estimate} s estimated, ${truth} s in truth`];
    });
  // The machine may be slower or faster for a time: an estimate cannot know that.
  const wrong = beyond(2, 3);
  assert.ok(wrong.length <= known.length / 4, wrong.join(', '));
  assert.deepEqual(beyond(4, 6), []);
}

/** What matters of a sync is there at info, in under 100 lines; every event is there at debug, with no data. */
function assertStory(log: readonly LogLine[], events: number): void {
  const story = log.filter(({ level }) => level !== 'debug' && level !== 'trace');
  assert.ok(story.length < 100, `${story.length} lines`);
  const line = (msg: string): LogLine => {
    const found = story.findLast((one) => one['msg'] === msg);
    assert.ok(
      found,
      `the story has no "${msg}":\n${story.map((one) => String(one['msg'])).join('\n')}`,
    );
    return found;
  };
  assert.equal(line('options')['copyWorkers'], 1);
  assert.equal((line('started')['options'] as LogLine)['buildIndexes'], 'afterDataCopy');
  assert.equal(line('collections created')['collections'], 30);
  assert.equal(line('indexes built')['indexes'], 8);
  const copied = line('copied');
  assert.equal(copied['documents'], 300);
  assert.ok(Number(copied['bytes']) > 0 && Number(copied['seconds']) > 0);
  assert.ok(Number.isInteger(line('applying changes')['lagSeconds']));
  assert.ok(Number.isInteger(line('committing')['lagSeconds']));
  assert.ok(Number(line('indexes and options restored')['indexes']) >= 4);
  assert.equal(line('committed')['eventsApplied'], events);
  const phases = story.filter(({ msg }) => msg === 'phase').map(({ phase }) => phase);
  assert.deepEqual(phases, ['catalog', 'copy', 'changes', 'restoring', 'done']);

  const logged = log.filter(({ msg }) => msg === 'event');
  assert.equal(logged.length, events);
  for (const { level, kind, namespace, time } of logged) {
    assert.equal(level, 'debug');
    assert.equal(typeof kind, 'string');
    assert.match(String(namespace), /^shop\./);
    assert.match(String(time), /^\d+:\d+$/);
  }
  assert.ok(!JSON.stringify(log).includes('customer-'), 'an _id is in the log');
}
