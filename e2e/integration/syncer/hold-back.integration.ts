import assert from 'node:assert/strict';
import { MongoClient } from 'mongodb';
import { assertEqualClusters } from '../../ground/compare.ts';
import { freezeProcess } from '../../ground/freeze-process.ts';
import { startReplicaSet, type ReplicaSet } from '../../ground/mongod/replica-set.ts';
import {
  startSyncerProcess,
  type SyncerProcess,
  type SyncerProgress,
} from '../../ground/syncer-process.ts';
import { until } from '../../ground/until.ts';
import {
  commitAndWait,
  endPreparation,
  forward,
  startSyncing,
  type Side,
  useClusterPair,
} from './cluster-pair.ts';
import { withUser } from './source-user.ts';

const success = { status: 200, body: { success: true } };
const fullDisk = { holdBack: { minFreeDiskPercent: 100 } };

async function limit(syncer: SyncerProcess, limits: object): Promise<void> {
  assert.deepEqual(await syncer.post('limits', limits), success);
}

/** Waits until work is held back by one limit alone, which is told with what was measured. */
async function untilHeld(syncer: SyncerProcess, by: RegExp): Promise<SyncerProgress> {
  const held = await syncer.waitFor(({ limits }) => by.test(limits?.heldBackBy.join() ?? ''));
  assert.equal(held.limits?.heldBackBy.length, 1);
  return held;
}

/** From which share of the cache on a server writes what is dirty before the next checkpoint: 5 % is its default. */
async function evictDirtyFrom({ client }: Pick<Side, 'client'>, percent: number): Promise<void> {
  const config = `eviction_dirty_target=${percent},eviction_dirty_trigger=${percent + 15}`;
  await client.db('admin').command({ setParameter: 1, wiredTigerEngineRuntimeConfig: config });
}

/** Other warnings appear and disappear on a busy machine. */
function limitWarnings({ warnings }: SyncerProgress): string[] {
  return (warnings ?? []).filter((warning) => warning.startsWith('limits: '));
}

function rows(from: number, count: number): { n: number; text: string }[] {
  const text = 'x'.repeat(100);
  return Array.from({ length: count }, (_, index) => ({ n: from + index, text }));
}

describe('limits by what is measured', () => {
  // Large enough for all that these tests write: nothing yields to it.
  const pair = useClusterPair({ oplogSizeMB: 16_384 });
  const items = () => pair.source.client.db('shop').collection('a');
  const countCopied = async (): Promise<number> =>
    await pair.destination.client.db('shop').collection('a').countDocuments();

  beforeEach(async () => {
    await pair.reset();
    await items().insertMany(rows(0, 3_000));
    await endPreparation(pair.source);
  });

  async function heldSeconds(syncer: SyncerProcess): Promise<number> {
    const { limits } = await syncer.progress();
    return limits?.secondsHeldBack.copy ?? 0;
  }

  it('let nothing be copied from the start while the disk is too full, until they are lifted', async () => {
    await using syncer = await pair.syncer();
    await syncer.start({ ...forward, limits: fullDisk });
    const held = await untilHeld(syncer, /^free disk of the destination [0-9.]+ %, limit 100 %$/);
    assert.equal(held.limits?.allowed.copyDocumentsPerSecond, 0);
    assert.deepEqual(limitWarnings(held), []);
    const metrics = await (await fetch(`${syncer.url}/metrics`)).text();
    assert.match(metrics, /^clustersync_syncer_held_back\{reason="minFreeDiskPercent"\} 1$/m);
    assert.match(metrics, /^clustersync_syncer_held_back\{reason="maxChangesPerSecond"\} 0$/m);
    const before = await heldSeconds(syncer);
    await until('it is held back for longer', async () => (await heldSeconds(syncer)) > before + 2);
    assert.equal(await countCopied(), 0);
    await limit(syncer, {});
    await syncer.waitFor(({ canCommit }) => canCommit);
    assert.match(await syncer.log(), /"msg":"held back"/);
    await commitAndWait(syncer);
    await pair.assertEqual();
  });

  it('hold a copy for longer than the source keeps its cursors', async () => {
    await using syncer = await pair.syncer();
    const slow = { maxCopyDocumentsPerSecond: 100, maxConcurrentBatches: 1 };
    await syncer.start({ ...forward, limits: slow });
    await until('more than a burst is copied', async () => (await countCopied()) > 150);
    await limit(syncer, { ...slow, ...fullDisk });
    await untilHeld(syncer, /^free disk/);
    assert.ok((await openCursors()) > 0);
    // As the source does once it has heard nothing of a session for half an hour.
    await pair.source.client
      .db('admin')
      .command({ killAllSessions: [{ user: 'syncer', db: 'admin' }] });
    await until('the source has closed the cursors', async () => (await openCursors()) === 0);
    assert.ok((await countCopied()) < 3_000);
    await limit(syncer, {});
    await syncer.waitFor(({ canCommit }) => canCommit);
    await commitAndWait(syncer);
    await pair.assertEqual();
  });

  async function openCursors(): Promise<number> {
    const { metrics } = await pair.source.client.db('admin').command({ serverStatus: 1 });
    const { cursor } = metrics as {
      readonly cursor: { readonly open: { readonly total: number } };
    };
    return cursor.open.total;
  }

  it('hold changes, a pause does not wait for them, and a commit lifts them and says so', async () => {
    await using syncer = await pair.syncing();
    await limit(syncer, fullDisk);
    await items().insertMany(rows(3_000, 10));
    const held = await untilHeld(syncer, /^free disk of the destination/);
    assert.equal(held.limits?.allowed.changesPerSecond, 0);
    await syncer.waitFor(({ canCommit, limits }) => canCommit && limits?.heldBackBy.length === 1);
    assert.deepEqual(await syncer.post('pause', {}), success);
    assert.deepEqual(await syncer.post('resume', {}), success);
    await syncer.waitFor(({ canCommit }) => canCommit);
    await untilHeld(syncer, /^free disk of the destination/);
    assert.equal(await countCopied(), 3_000);
    await syncer.waitFor(({ canCommit }) => canCommit);
    await commitAndWait(syncer);
    assert.match(await syncer.log(), /"lifted":\["minFreeDiskPercent"\]/);
    await pair.assertEqual();
  });

  it('hold while the cache of the destination is dirty, and until it is clean', async () => {
    await using syncer = await pair.syncing({
      limits: { holdBack: { maxQueuedOperations: 1_000_000, maxCacheDirtyPercent: 100 } },
    });
    assert.deepEqual(limitWarnings(await syncer.progress()), []);
    await evictDirtyFrom(pair.destination, 60);
    const other = pair.destination.client.db('other').collection('a');
    const text = 'x'.repeat(1_000_000);
    const dirty = async (): Promise<void> => {
      await other.insertMany(Array.from({ length: 16 }, () => ({ text })));
      await items().insertMany(rows(3_000, 1));
    };
    // Each small write marks the last page of the oplog dirty, which may have 10 MB of the 256 MB of the cache.
    await limit(syncer, { holdBack: { maxCacheDirtyPercent: 8 } });
    const by = /^dirty cache of the destination [0-9.]+ %, limit 8 %$/;
    await until('it is held back', async () => {
      await dirty();
      return by.test((await syncer.progress()).limits?.heldBackBy.join() ?? '');
    });
    await pair.destination.client.db('other').dropDatabase();
    await pair.destination.client.db('admin').command({ fsync: 1 });
    await evictDirtyFrom(pair.destination, 5);
    await syncer.waitFor(({ limits }) => limits?.heldBackBy.length === 0);
    await limit(syncer, {});
    await syncer.waitFor(({ canCommit }) => canCommit);
    await commitAndWait(syncer);
    await pair.assertEqual();
  });

  it('that cannot be measured hold nothing back, and say what it takes', async () => {
    await using user = await withUser(pair.source, ['local']);
    await using syncer = await pair.syncing(
      { limits: { holdBack: { maxReplicationLagSeconds: 30 } } },
      { cluster0: user.uri },
    );
    const warning =
      'limits: holdBack.maxReplicationLagSeconds does not apply: the user of the source may not run replSetGetStatus: grant it the role clusterMonitor';
    assert.deepEqual(limitWarnings(await syncer.progress()), [warning]);
    const admin = pair.source.client.db('admin');
    await admin.command({ grantRolesToUser: 'bare', roles: ['clusterMonitor'] });
    await syncer.waitFor((now) => limitWarnings(now).length === 0 && now.canCommit);
    await commitAndWait(syncer);
    await pair.assertEqual();
  });
});

describe('the limit of the replication lag', () => {
  let source: ReplicaSet;
  let destination: ReplicaSet;
  before(async () => {
    source = await startReplicaSet({ members: 1, name: 'source' });
    destination = await startReplicaSet({ members: 3, name: 'destination' });
  });
  after(async () => {
    await source[Symbol.asyncDispose]();
    await destination[Symbol.asyncDispose]();
  });

  it('holds changes while a secondary of the destination stands still, and until it has caught up', async () => {
    await using client = new MongoClient(source.uri('admin'));
    await using copy = new MongoClient(destination.uri('admin'));
    const [items, copied] = [client, copy].map((each) => each.db('shop').collection('a'));
    assert.ok(items && copied);
    await items.insertMany(rows(0, 100));
    const cluster0 = source.uri('syncer');
    await using syncer = await startSyncing(
      await startSyncerProcess({ cluster0, cluster1: destination.uri('syncer') }),
      { limits: { holdBack: { maxReplicationLagSeconds: 3 } } },
    );
    const primary = await destination.primary();
    const secondary = destination.members.find((member) => member !== primary);
    assert.ok(secondary?.pid);
    const lagIn = ({ limits }: SyncerProgress): number => {
      const by = /^replication lag of the destination (\d+) s, limit 3 s$/;
      return Number(by.exec(limits?.heldBackBy.join() ?? '')?.[1] ?? 0);
    };
    freezeProcess(secondary.pid);
    try {
      let n = 100;
      await until('changes are held back', async () => {
        await items.insertOne({ n: n++ });
        return lagIn(await syncer.progress()) > 3;
      });
      await items.insertOne({ n: -1 });
      const before = lagIn(await syncer.progress());
      await syncer.waitFor((now) => lagIn(now) > before + 3 && lagIn(now) < 60);
      assert.equal(await copied.countDocuments({ n: -1 }), 0);
    } finally {
      process.kill(secondary.pid, 'SIGCONT');
    }
    await until('the change is applied', async () => {
      return (await copied.countDocuments({ n: -1 })) === 1;
    });
    await syncer.waitFor(({ canCommit }) => canCommit);
    await commitAndWait(syncer);
    await assertEqualClusters(source.uri('admin'), destination.uri('admin'));
  });
});
