import assert from 'node:assert/strict';
import type { Document, Timestamp } from 'mongodb';
import { createClusterClient, type ClusterClient } from '../../../mongo/cluster-client.ts';
import { verifierDatabase } from '../../../mongo/namespace.ts';
import { createLogger } from '../../../service/logger.ts';
import { VerifierMonitor } from '../../../verifier/monitor.ts';
import { coordinate } from '../../../verifier/passes/coordinate.ts';
import { CoverageStore } from '../../../verifier/store/coverage-store.ts';
import { metadataDb } from '../../../verifier/store/metadata-store.ts';
import type { VerificationRecord } from '../../../verifier/store/records.ts';
import { storesOf, type Stores } from '../../../verifier/store/stores.ts';
import { TaskStore } from '../../../verifier/store/task-store.ts';
import { CoordinatorLeaseLost } from '../../../verifier/store/verification-store.ts';
import { Wakeup } from '../../../verifier/wakeup.ts';
import { useReplicaSetPair } from './replica-set-pair.ts';

interface Row extends Document {
  readonly _id: number;
}

const namespace = { db: 'shop', coll: 'items' };
const nothing = { documents: 0, bytes: 0 };
const counted = { source: 5, destination: 5 };
const read = { ...counted, hashed: 0 };
const { signal } = new AbortController();

/** When another process takes the lease. */
type Moment = 'never' | 'while the pass is looked at' | 'while it is proven';

describe('verifier, a lease of the coordinator that is lost', () => {
  const pair = useReplicaSetPair();
  let clusters: readonly ClusterClient[] = [];

  before(async () => {
    clusters = pair.sets.map((set) =>
      createClusterClient({ uri: set.uri('admin'), option: 'uri', appName: 'coordinator' }),
    );
    for (const db of [pair.source, pair.destination]) {
      const rows = Array.from({ length: 5 }, (_, _id): Row => ({ _id }));
      await db.collection<Row>('items').insertMany(rows);
    }
  });

  after(async () => {
    for (const cluster of clusters) await cluster[Symbol.asyncDispose]();
  });

  beforeEach(async () => {
    await pair.clients[1]?.db(verifierDatabase).dropDatabase();
  });

  async function now(index: number): Promise<Timestamp> {
    const answer = await pair.clients[index]?.db('admin').command({ ping: 1 });
    return answer?.['operationTime'] as Timestamp;
  }

  /** Lets a coordinator find its last pass over, in which nothing differed. @returns what it has noted of the collection. */
  async function coordinateToEnd(
    moment: Moment,
  ): Promise<{ end: unknown; noted: Document | undefined }> {
    const [source, destination] = clusters;
    assert.ok(source && destination);
    const context = {
      signal,
      logger: createLogger('verifier', 'error', () => undefined),
      monitor: new VerifierMonitor(),
    };
    const store = { ...context, db: metadataDb(destination) };
    const identity = { verification: 'verification', id: 'one', incarnation: 'one', attempt: 0 };
    const stores = storesOf(store, identity);
    const others = storesOf(store, { ...identity, id: 'two', incarnation: 'two' });
    const { run, epoch } = await passThatIsOver(stores);
    const record = await stores.verifications.read();
    assert.ok(record);
    const lose = async (at: Moment): Promise<void> => {
      if (at !== moment) return;
      await others.verifications.endLease('one');
      assert.equal(await others.verifications.takeLease(run), epoch + 1);
    };
    class Tasks extends TaskStore {
      override async plannedCount(
        ...plan: Parameters<TaskStore['plannedCount']>
      ): ReturnType<TaskStore['plannedCount']> {
        const count = await super.plannedCount(...plan);
        await lose('while the pass is looked at');
        return count;
      }
    }
    class Coverages extends CoverageStore {
      override async latest(
        ...asked: Parameters<CoverageStore['latest']>
      ): ReturnType<CoverageStore['latest']> {
        const found = await super.latest(...asked);
        await lose('while it is proven');
        return found;
      }
    }
    const leading = coordinate(
      {
        ...context,
        source,
        destination,
        scope: { verifyAll: true, includeNamespaces: undefined, excludeNamespaces: undefined },
        stores: { ...stores, tasks: new Tasks(store), coverages: new Coverages(store) },
        incarnation: 'one',
        wakeup: new Wakeup(),
        latest: () => undefined,
      },
      record,
      epoch,
    );
    const end = await leading.then(
      () => 'complete',
      (error: unknown) => error,
    );
    return { end, noted: (await stores.coverages.latest(run)).get('shop.items') };
  }

  async function passThatIsOver({
    verifications,
    tasks,
  }: Stores): Promise<{ readonly run: string; readonly epoch: number }> {
    await verifications.openAttempt();
    await verifications.begin();
    await verifications.setWritesOff();
    const { run } = (await verifications.read()) ?? {};
    assert.ok(run);
    const epoch = await verifications.takeLease(run);
    assert.ok(epoch);
    const plan = { run, generation: 0, epoch };
    await tasks.add(
      plan,
      (['metadata', 'collection'] as const).map((kind) => {
        return { namespace, work: { kind }, expected: nothing };
      }),
      0,
    );
    const claimed = await tasks.claim(plan, 8, { owner: 'one', claim: 'claim' });
    assert.equal(claimed.length, 2);
    const found = {
      isFailed: false,
      isMetadata: false,
      isOverflowing: false,
      isDisturbed: false,
      parts: null,
      noted: 0,
    };
    await tasks.end(claimed.map((task) => ({ task, ...found, compared: nothing, read })));
    const readAfter = { source: await now(0), destination: await now(1) };
    const change: Partial<VerificationRecord> = {
      scope: {
        includeNamespaces: null,
        excludeNamespaces: null,
        mayLackIndexes: false,
        sync: null,
      },
      starts: {
        source: { isSharded: false, from: readAfter.source },
        destination: { isSharded: false, from: readAfter.destination },
      },
      generation: {
        number: 0,
        epoch,
        kind: 'last',
        isAgain: false,
        plannedTasks: 2,
        readAfter,
        comparedUpTo: null,
        startedAt: new Date(),
        noted: null,
      },
    };
    await verifications.updateAsCoordinator(run, epoch, change);
    return { run, epoch };
  }

  it('notes what was read and counted while it is not', async () => {
    const { end, noted } = await coordinateToEnd('never');
    assert.equal(end, 'complete');
    assert.deepEqual(noted?.['read'], read);
    assert.deepEqual(noted['counted'], counted);
  });

  it('notes nothing of what was read', async () => {
    const { end, noted } = await coordinateToEnd('while the pass is looked at');
    assert.ok(end instanceof CoordinatorLeaseLost, String(end));
    assert.equal(noted, undefined);
  });

  it('notes nothing of what was counted', async () => {
    const { end, noted } = await coordinateToEnd('while it is proven');
    assert.ok(end instanceof CoordinatorLeaseLost, String(end));
    assert.deepEqual(noted?.['read'], read);
    assert.equal(noted['counted'], null);
  });
});
