import assert from 'node:assert/strict';
import { Timestamp, UUID, type Document } from 'mongodb';
import { createClusterClient, type ClusterClient } from '../../../mongo/cluster-client.ts';
import { majorityTime, isAtMost } from '../../../mongo/cluster-time.ts';
import { NamespaceFilter } from '../../../mongo/namespace-filter.ts';
import { hidesAppliedOps } from '../../../mongo/oplog.ts';
import { requireNoAppliedOps, type AppliedOpsContext } from '../../../syncer/source/applied-ops.ts';
import { until } from '../../ground/until.ts';
import { skipBecause } from '../../runner/skip.ts';
import {
  allowEverything,
  commitAndWait,
  forward,
  useClusterPair,
  type Side,
} from './cluster-pair.ts';
import { failureOf } from './sharded-pair.ts';
import { skipUnlessReversible } from './skip-reversal.ts';
import { canBeSlow, holdCommands, slowCommands } from './slow-commands.ts';
import { withUser } from './source-user.ts';

const allWasLookedAt = '"the whole oplog was checked"';

describe('writes by applyOps, of which no change stream tells', () => {
  const pair = useClusterPair({
    // Transactions of three operations take several entries of the oplog; what a client has changed is there soon.
    parameters: { ...canBeSlow, maxNumberOfTransactionOperationsInSingleOplogEntry: 2 },
  });
  before(async function () {
    // Where they are shown, they are applied: server-differences.integration.ts.
    const admin = pair.source.client.db('admin');
    if (!(await hidesAppliedOps({ admin }, AbortSignal.timeout(10_000))))
      skipBecause(this, 'change streams of this server show what applyOps writes');
  });
  before(async () => {
    await allowEverything(pair);
  });
  beforeEach(async () => {
    await pair.reset();
    await items(pair.source).insertMany([{ _id: 0 }, { _id: 1 }]);
  });

  const stopped =
    /^ApplyOpsOnSource: a client has written to shop\.items on cluster0 by the command applyOps/;

  const cases: readonly [string, (side: Side) => Promise<Document>][] = [
    ['an insert', async (side) => await apply(side, [insert(7)])],
    [
      'an update',
      async (side) => {
        const update = { op: 'u', ns: 'shop.items', o2: { _id: 0 }, o: { $set: { a: 1 } } };
        return await apply(side, [update]);
      },
    ],
    ['a delete', async (side) => await apply(side, [{ op: 'd', ns: 'shop.items', o: { _id: 0 } }])],
    [
      'several at once, one of them to what is synced',
      async (side) => await apply(side, [insert(1, 'excluded.items'), insert(7), insert(8)]),
    ],
    [
      'one inside of another',
      async (side) =>
        await apply(side, [{ op: 'c', ns: 'admin.$cmd', o: { applyOps: [insert(7)] } }]),
    ],
    [
      'one that was sent to another database',
      async ({ client }) => await client.db('shop').command({ applyOps: [insert(7)] }),
    ],
  ];
  for (const [what, write] of cases) {
    it(`${what}: the sync stops by name, and again after a restart`, async () => {
      await pair.source.client.db('excluded').collection('items').insertOne({ n: 0 });
      await using syncer = await pair.syncing({ excludeNamespaces: [{ database: 'excluded' }] });
      await write(pair.source);
      assert.match(await failureOf(syncer), stopped);
      const commit = await syncer.post('commit', {});
      assert.equal(commit.body['error'], 'ApplyOpsOnSource');
      assert.deepEqual(await idsOf(pair.destination), [0, 1], 'no stream told of it');
      await syncer.kill('SIGTERM');
      await syncer.restart();
      assert.match(await failureOf(syncer), stopped);
    });
  }

  it('during the copy', async () => {
    await using syncer = await pair.syncer();
    await using held = await holdCommands(pair.destination, 'insert', 'shop.items');
    await syncer.start(forward);
    await held.reached(1);
    await apply(pair.source, [insert(7)]);
    assert.match(await failureOf(syncer), stopped);
  });

  it('while no syncer runs, and while it is paused', async () => {
    await using syncer = await pair.syncing();
    await syncer.kill();
    await apply(pair.source, [insert(7)]);
    await syncer.restart();
    assert.match(await failureOf(syncer), stopped);
    await syncer.kill();

    await pair.reset();
    await items(pair.source).insertMany([{ _id: 0 }]);
    await using other = await pair.syncing();
    assert.equal((await other.post('pause', {})).status, 200);
    await apply(pair.source, [insert(7)]);
    assert.equal((await other.post('resume', {})).status, 200);
    assert.match(await failureOf(other), stopped);
  });

  it('a commit waits until the whole oplog has been read, and does not complete if somebody has used it', async () => {
    await using syncer = await pair.syncing();
    const state = pair.destination.client.db('clustersync_internal');
    {
      await using slow = await slowCommands(pair.source, ['find'], 8_000, 'local.oplog.rs');
      // What watches for such writes, and how far the oplog reaches.
      await slow.reached(2);
      await apply(pair.source, [insert(7)]);
      await syncer.commit();
      await until('all changes are applied', async () => {
        const sync = await state.collection('sync').findOne();
        const instance = await state.collection('instances').findOne();
        const commitTime: unknown = sync?.['commitTime'];
        const appliedTime: unknown = instance?.['appliedTime'];
        return (
          commitTime instanceof Timestamp &&
          appliedTime instanceof Timestamp &&
          isAtMost(commitTime, appliedTime)
        );
      });
      assert.equal((await syncer.progress()).state, 'COMMITTING');
      assert.equal((await state.collection('sync').findOne())?.['phase'], 'changes');
    }
    assert.match(await failureOf(syncer), stopped);
    assert.equal((await state.collection('sync').findOne())?.['state'], 'COMMITTING');
    assert.doesNotMatch(await syncer.log(), new RegExp(allWasLookedAt));
  });

  it('to the new deployment, after a reversal', async function () {
    await skipUnlessReversible(this);
    await using syncer = await pair.syncing({ reversible: true, enableUserWriteBlocking: true });
    await commitAndWait(syncer);
    assert.equal((await syncer.post('reverse', {})).status, 200);
    await syncer.waitFor(({ canCommit }) => canCommit);
    await apply(pair.destination, [insert(7)]);
    assert.match(await failureOf(syncer), /^ApplyOpsOnSource: .* shop\.items on cluster1 by/);
  });

  it('nothing else is taken for one: what is in change streams, and what is not synced', async () => {
    const { client } = pair.source;
    await client.db('excluded').collection('items').insertOne({ n: 0 });
    await using syncer = await pair.syncing({ excludeNamespaces: [{ database: 'excluded' }] });
    const shop = client.db('shop');

    await apply(pair.source, [insert(1, 'excluded.items')]);
    await client.db('admin').command({ applyOps: [] });
    // Logged one by one.
    await client.db('admin').command({ applyOps: [insert(10), insert(11)], allowAtomic: false });
    const idIndex = { v: 2, key: { _id: 1 }, name: '_id_' };
    const create = { op: 'c', ns: 'shop.$cmd', o: { create: 'made', idIndex } };
    await apply(pair.source, [insert(12), create, insert(0, 'shop.made')]);

    for (const count of [1, 2, 5]) {
      await client.withSession(async (session) => {
        await session.withTransaction(async () => {
          const documents = Array.from({ length: count }, (_, n) => ({ _id: count * 100 + n }));
          for (const document of documents)
            await items(pair.source).insertOne(document, { session });
        });
      });
    }
    await prepareAndCommit(pair.source, [{ _id: 20 }, { _id: 21 }, { _id: 22 }]);
    await items(pair.source).insertMany([{ _id: 30 }, { _id: 31 }]);
    await items(pair.source).findOneAndUpdate({ _id: 30 }, { $set: { a: 1 } });
    await items(pair.source).deleteMany({ _id: { $in: [31, 11] } });
    await shop.collection('made').rename('renamed');

    await commitAndWait(syncer);
    assert.match(await syncer.log(), new RegExp(allWasLookedAt));
    assert.deepEqual((await syncer.progress()).warnings, []);
    await pair.assertEqual({ exclude: ['excluded'] });
    assert.deepEqual(
      await idsOf(pair.destination),
      [0, 1, 10, 12, 20, 21, 22, 30, 100, 200, 201, 500, 501, 502, 503, 504],
    );
  });

  it('warns about what the user may not read, from the beginning, and after the commit', async () => {
    await using user = await withUser(pair.source, []);
    await using syncer = await pair.syncing({}, { cluster0: user.uri });
    const warned = async (): Promise<boolean> => {
      const { warnings } = await syncer.progress();
      const found = warnings?.filter((warning) =>
        /^the user of cluster0 may not read local\.oplog\.rs .* by the command applyOps/.test(
          warning,
        ),
      );
      assert.ok(found && found.length <= 1, JSON.stringify(warnings));
      return found.length === 1;
    };
    await until('the warning', warned);
    await apply(pair.source, [insert(7)]);
    await commitAndWait(syncer);
    assert.ok(await warned());
    assert.doesNotMatch(await syncer.log(), new RegExp(allWasLookedAt));
    await syncer.kill();
    await syncer.restart();
    assert.ok(await warned());
  });

  it('after a restart, is known up to where it was read', async () => {
    await using syncer = await pair.syncing();
    const instances = pair.destination.client.db('clustersync_internal').collection('instances');
    const storedTime = async (): Promise<unknown> =>
      (await instances.findOne())?.['appliedOpsTime'];
    await until('a checkpoint', async () => (await storedTime()) instanceof Timestamp);
    const before = await storedTime();
    await syncer.kill();
    await syncer.restart();
    assert.ok(before instanceof Timestamp);
    await until('a later one', async () => {
      const now = await storedTime();
      assert.ok(now instanceof Timestamp && isAtMost(before, now));
      return !now.equals(before);
    });
  });

  context('requireNoAppliedOps', () => {
    let cluster: ClusterClient;
    beforeEach(() => {
      const uri = pair.source.set.uri('syncer');
      cluster = createClusterClient({
        uri,
        option: 'cluster0',
        appName: 'clustersync syncer syncer',
      });
    });
    afterEach(async () => {
      await cluster[Symbol.asyncDispose]();
    });

    interface Looking {
      readonly monitor: { appliedOpsTime: Timestamp | null };
      readonly warnings: readonly string[];
      upTo(time: Timestamp, startTime?: Timestamp): Promise<void>;
    }

    /** @param trackedHex - the UUID of a collection that is synced, whatever its name. */
    function looking(database = 'shop', trackedHex?: string): Looking {
      const monitor = { appliedOpsTime: null as Timestamp | null };
      const warnings: string[] = [];
      const context = {
        source: cluster,
        options: { source: 'cluster0' },
        filter: new NamespaceFilter({ includeNamespaces: [{ database }] }, async () => {
          return await Promise.reject(new Error('there is no pattern'));
        }),
        catalog: { collection: (uuidHex: string) => (uuidHex === trackedHex ? {} : undefined) },
        monitor,
        warn: async (warning: string) => {
          warnings.push(warning);
          await Promise.resolve();
        },
        signal: AbortSignal.timeout(60_000),
      } as unknown as AppliedOpsContext;
      return {
        monitor,
        warnings,
        async upTo(time, startTime = time) {
          await requireNoAppliedOps(context, startTime, time);
        },
      };
    }

    const now = async (): Promise<Timestamp> => {
      await pair.source.client.db('admin').command({
        appendOplogNote: 1,
        data: { test: 'now' },
        writeConcern: { w: 'majority' },
      });
      return await majorityTime(cluster, AbortSignal.timeout(10_000));
    };
    const scanned = async (): Promise<number> => {
      const status = await pair.source.client.db('admin').command({ serverStatus: 1 });
      const { queryExecutor } = status['metrics'] as { queryExecutor: { scannedObjects: number } };
      return queryExecutor.scannedObjects;
    };

    it('reads only what is new', async () => {
      const startTime = await now();
      const documents = Array.from({ length: 5_000 }, (_, n) => ({ _id: 1_000 + n }));
      await items(pair.source).insertMany(documents);
      const look = looking();
      let before = await scanned();
      await look.upTo(await now(), startTime);
      assert.ok((await scanned()) - before >= 5_000);
      await items(pair.source).insertOne({ _id: 6_000 });
      before = await scanned();
      await look.upTo(await now(), startTime);
      assert.ok((await scanned()) - before < 500);
      assert.deepEqual(look.warnings, []);
    });

    it('finds one at either end of what it reads', async () => {
      const startTime = await now();
      await apply(pair.source, [insert(7)]);
      const [entry] = await pair.source.client
        .db('local')
        .collection<{ ts: Timestamp }>('oplog.rs')
        .find({ ts: { $gte: startTime }, 'o.applyOps': { $exists: true } })
        .toArray();
      assert.ok(entry);
      const found = { name: 'ApplyOpsOnSource' };
      await assert.rejects(looking().upTo(entry.ts, startTime), found);
      await assert.rejects(looking().upTo(await now(), entry.ts), found);
      const ordinal = { t: entry.ts.t, i: entry.ts.i - 1 };
      await looking().upTo(new Timestamp(ordinal), startTime);
    });

    it('finds one on a collection that is synced by its UUID, under whichever name', async () => {
      const startTime = await now();
      await apply(pair.source, [insert(7)]);
      const to = await now();
      const [info] = await pair.source.client
        .db('shop')
        .listCollections({ name: 'items' })
        .toArray();
      const { uuid } = (info as Document | undefined)?.['info'] as { readonly uuid?: unknown };
      assert.ok(uuid instanceof UUID);
      await looking('nothing').upTo(to, startTime);
      const found = { name: 'ApplyOpsOnSource' };
      const look = looking('nothing', uuid.toHexString(false));
      await assert.rejects(look.upTo(to, startTime), found);
    });

    it('waits for a primary that does not know yet that a majority has the end', async () => {
      const admin = pair.source.client.db('admin');
      const startTime = await now();
      const configureFailPoint = 'disableSnapshotting';
      await admin.command({ configureFailPoint, mode: 'alwaysOn' });
      try {
        await admin.command({ applyOps: [insert(7)], writeConcern: { w: 1 } });
        const { lastWrite } = (await admin.command({ hello: 1 })) as {
          lastWrite: { opTime: { ts: Timestamp } };
        };
        let hasEnded = false;
        const look = looking()
          .upTo(lastWrite.opTime.ts, startTime)
          .finally(() => (hasEnded = true));
        const rejected = assert.rejects(look, { name: 'ApplyOpsOnSource' });
        const isWaiting = async (): Promise<boolean> => {
          const shown = { active: true, 'command.find': 'oplog.rs' };
          const match = { ...shown, appName: 'clustersync syncer syncer' };
          const pipeline = [{ $currentOp: { allUsers: true } }, { $match: match }];
          return (await admin.aggregate(pipeline).toArray()).length > 0;
        };
        await until('the look waits', async () => hasEnded || (await isWaiting()));
        await admin.command({ configureFailPoint, mode: 'off' });
        await items(pair.source).insertOne({ _id: 6_001 });
        await rejected;
      } finally {
        await admin.command({ configureFailPoint, mode: 'off' });
      }
    });

    it('takes shorter parts where the server gives up, and knows how far it came', async () => {
      const admin = pair.source.client.db('admin');
      const look = looking();
      const startTime = await now();
      const to = await now();
      const data = { failCommands: ['find'], errorCode: 50, namespace: 'local.oplog.rs' };
      const { count } = await admin.command({
        configureFailPoint: 'failCommand',
        mode: { times: 3 },
        data,
      });
      await look.upTo(to, startTime);
      assert.deepEqual(look.monitor.appliedOpsTime, to);
      const after = await admin.command({ configureFailPoint: 'failCommand', mode: 'off' });
      assert.ok(Number(after['count']) - Number(count) >= 3);
    });

    it('warns of what the oplog does not hold any more', async () => {
      // Other tests have written to what is synced there.
      const look = looking('nothing');
      const to = await now();
      await look.upTo(to, new Timestamp({ t: to.t - 10_000, i: 1 }));
      assert.deepEqual(look.monitor.appliedOpsTime, to);
      assert.equal(look.warnings.length, 1);
      assert.match(
        String(look.warnings[0]),
        /^the oplog of cluster0 between .* was gone before it was read/,
      );
    });
  });
});

interface Item {
  readonly _id: number;
}

function items({ client }: Side) {
  return client.db('shop').collection<Item>('items');
}

async function idsOf(side: Side): Promise<number[]> {
  return (await items(side).find().sort({ _id: 1 }).toArray()).map(({ _id }) => _id);
}

function insert(_id: number, ns = 'shop.items'): Document {
  return { op: 'i', ns, o: { _id } };
}

async function apply({ client }: Side, operations: readonly Document[]): Promise<Document> {
  return await client.db('admin').command({ applyOps: operations });
}

/** Does what a shard does with a transaction that others take part in. */
async function prepareAndCommit(side: Side, documents: readonly Item[]): Promise<void> {
  await side.client.withSession(async (session) => {
    session.startTransaction();
    for (const document of documents) await items(side).insertOne(document, { session });
    const admin = side.client.db('admin');
    const prepared = await admin.command({ prepareTransaction: 1 }, { session });
    const commitTimestamp: unknown = prepared['prepareTimestamp'];
    await admin.command({ commitTransaction: 1, commitTimestamp }, { session });
  });
}
