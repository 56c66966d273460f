import assert from 'node:assert/strict';
import { MongoServerError, Timestamp } from 'mongodb';
import { createClusterClient, type ClusterClient } from '../../../mongo/cluster-client.ts';
import { RetryWarnings } from '../../../mongo/retry-warnings.ts';
import { SyncError } from '../../../service/errors.ts';
import { createLogger } from '../../../service/logger.ts';
import { momentNow, type Moment } from '../../../service/moment.ts';
import { reliableMs } from '../../../syncer/store/instance-ownership.ts';
import { LiveSync } from '../../../syncer/store/live-sync.ts';
import type { SyncRecord } from '../../../syncer/store/records.ts';
import { SyncStore } from '../../../syncer/store/store.ts';
import { TrackedCatalog } from '../../../syncer/store/tracked-catalog.ts';
import { WorkStore } from '../../../syncer/store/work-store.ts';
import { reversibleSync } from '../../../syncer/testing/reversible-sync.ts';
import { startReplicaSet, type ReplicaSet } from '../../ground/mongod/replica-set.ts';

const copying: SyncRecord = { ...reversibleSync(), phase: 'copy' };

describe('the end of a phase, as it is stored', () => {
  const { signal } = new AbortController();
  let set: ReplicaSet;
  let cluster: ClusterClient;
  let store: SyncStore;

  before(async () => {
    set = await startReplicaSet({ members: 1 });
    cluster = createClusterClient({ uri: set.uri('syncer'), option: 'cluster1', appName: 'ends' });
  });
  beforeEach(async () => {
    store = new SyncStore(cluster, 'syncer', signal);
    await store.clear();
    await store.record.createSync(copying);
  });
  after(async () => {
    await cluster[Symbol.asyncDispose]();
    await set.stop();
  });

  async function newProcess(requireLease: () => void = () => undefined): Promise<WorkStore> {
    const record = await store.record.readSync();
    assert.ok(record);
    return new WorkStore({
      ...{ signal, store, requireLease, logger: createLogger('test', 'fatal') },
      monitor: { retryWarnings: new RetryWarnings(), addRetry: () => undefined },
      live: new LiveSync('syncer', record, () => store.record),
      catalog: await TrackedCatalog.load(store, requireLease),
    });
  }

  async function phase(): Promise<string | undefined> {
    return (await store.record.readSync())?.phase;
  }

  it('continues the sync from the phase that was entered', async () => {
    const work = await newProcess();
    await work.endPhase(work.live.current, { phase: 'changes' });
    assert.equal(await phase(), 'changes');
  });

  it('continues a sync of a former release, whose record has no count of repairs', async () => {
    const work = await newProcess();
    const stored = cluster.decoded.db('clustersync_internal').collection<{ _id: string }>('sync');
    await stored.updateOne({ _id: 'sync' }, { $unset: { repairs: true } });
    await work.endPhase(work.live.current, { phase: 'changes' });
    assert.equal(await phase(), 'changes');
  });

  for (const [what, change] of Object.entries({
    'a repair': { repairs: 1 },
    'a reversal': { reversals: 1 },
    'another sync': { startedAt: new Date(copying.startedAt.getTime() + 1) },
  }))
    it(`does not end the same phase of ${what}`, async () => {
      const work = await newProcess();
      const entered = work.live.current;
      // Of another process, which has led the sync to the same phase since.
      assert.ok(
        await store.record.updateSync({ ...change, startTime: new Timestamp({ t: 1, i: 1 }) }),
      );
      const late = work.endPhase(entered, { phase: 'changes' });
      if ('startedAt' in change) await assert.rejects(late, isSuperseded);
      else await late;
      assert.equal(await phase(), 'copy');
    });

  it('is not stored once the sync is being reset, and no command is received then', async () => {
    const work = await newProcess();
    const entered = work.live.current;
    assert.ok(await store.record.receiveReset(entered, 'Clean', {}));
    // The work itself repeats this until the reset ends it.
    const late = work.live.update({ phase: 'changes' }, { phase: 'copy' });
    await assert.rejects(late, { name: 'ResetUnderWay' });
    assert.equal(await phase(), 'copy');
    assert.equal(await store.record.receiveCommand(entered, { state: 'COMMITTING' }), false);
    assert.equal((await store.record.readSync())?.state, 'RUNNING');
  });

  it('is for the coordinator alone to store, and so is that the instances begin again', async () => {
    const work = await newProcess(() => {
      throw new SyncError('SupersededByOtherInstance', 'another one coordinates');
    });
    await store.takeOwnership();
    await store.completeCopy();
    await assert.rejects(work.endPhase(work.live.current, { phase: 'changes' }), isSuperseded);
    await assert.rejects(work.resetInstances(), isSuperseded);
    assert.equal(await phase(), 'copy');
    assert.equal((await store.readInstance())?.isCopied, true);
  });

  it('does not count the instances as reset where the server has refused that', async () => {
    const work = await newProcess();
    await store.takeOwnership();
    await store.completeCopy();
    const state = cluster.decoded.db('clustersync_internal');
    await state.command({ collMod: 'instances', validator: { isCopied: true } });
    await assert.rejects(work.resetInstances(), (error: unknown) => {
      return error instanceof MongoServerError && error.code === 121;
    });
    assert.equal((await store.readInstance())?.isCopied, true);
  });

  it('does not reset the instances where the process was frozen after its right was confirmed', async () => {
    let frozenMs = 0;
    const now = (): Moment => momentNow().map((clock) => clock + frozenMs);
    const frozen = new SyncStore(cluster, 'syncer', signal, now);
    await frozen.takeOwnership();
    await frozen.completeCopy();
    const late = frozen.resetInstances(() => {
      frozenMs = reliableMs;
    });
    await assert.rejects(late, {
      name: 'ClusterUnreachable',
      message: /has not recently confirmed/,
    });
    assert.equal((await store.readInstance())?.isCopied, true);
    await frozen.resetInstances(() => undefined);
    assert.equal((await store.readInstance())?.isCopied, false);
  });
});

function isSuperseded(error: unknown): boolean {
  return error instanceof SyncError && error.name === 'SupersededByOtherInstance';
}
