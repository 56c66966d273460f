import assert from 'node:assert/strict';
import { setImmediate } from 'node:timers/promises';
import { BSON, MongoServerError, UUID, type Document } from 'mongodb';
import type { IdRange } from '../../mongo/id-range.ts';
import type { Namespace } from '../../mongo/namespace.ts';
import { RawBatch } from '../../mongo/raw-cursor.ts';
import { isTransient, serverCode } from '../../mongo/server-errors.ts';
import { createLogger } from '../../service/logger.ts';
import type { Destination } from '../destination/destination.ts';
import type { WorkPace } from '../limits/pace.ts';
import { SyncMonitor } from '../monitor/monitor.ts';
import { requestedConcurrency } from '../options/copy-concurrency.ts';
import type { Source } from '../source/source.ts';
import type { DocumentQuery } from '../source/source-documents.ts';
import type { Addressing, TrackedCollection } from '../store/records.ts';
import { RangeCopier } from './copy-range.ts';

const namespace = { db: 'shop', coll: 'items' };
const renamed = { db: 'shop', coll: 'renamed' };

const batchOf = (...ids: readonly number[]): RawBatch => {
  const array = BSON.serialize(Object.fromEntries(ids.map((_id, at) => [at, { _id }])));
  return new RawBatch(array, array.length, undefined);
};

const nothing = async (): Promise<void> => {
  await Promise.resolve();
};

interface Scene {
  readonly batches?: readonly RawBatch[];
  readonly addressing?: Addressing;
  readonly collection?: Partial<TrackedCollection>;
  /** Codes with which the next finds are refused. */
  readonly codes?: readonly number[];
  /** Where the collection is found by its UUID. */
  readonly found?: Namespace | undefined;
  /** Called for each batch before it is inserted. */
  readonly beforeInsert?: () => Promise<void>;
  /** Called before a majority is known to have what was inserted together. */
  readonly afterTogether?: () => void;
  readonly restarts?: number;
  /** How many batches may be under way at most. */
  readonly concurrentBatches?: number;
  /** How many documents to read at a time at most. */
  readonly fetchCount?: number;
}

/** Copies from a source that has some batches. */
function ground({ batches = [batchOf(1)], addressing = 'byId', ...scene }: Scene) {
  const queries: { readonly coll: string; readonly order: string }[] = [];
  const fetches: number[] = [];
  const writes: string[] = [];
  const codes = [...(scene.codes ?? [])];
  const open = async ({ from, bounds, batchSize }: DocumentQuery) => {
    const order = Object.keys((bounds['hint'] ?? {}) as object).join();
    queries.push({ coll: from.coll, order });
    fetches.push(batchSize);
    const code = codes.shift();
    if (code !== undefined) throw new MongoServerError({ message: 'not so', code });
    const left = [...batches];
    return await Promise.resolve({
      next: async (count: number) => {
        fetches.push(count);
        return await Promise.resolve(left.shift());
      },
      [Symbol.asyncDispose]: nothing,
    });
  };
  const locate = async () => await Promise.resolve(scene.found && { namespace: scene.found });
  const source = {
    ...{ kind: { addressingOf: () => addressing, checkDuplicateIds: nothing } },
    ...{ catalog: { locate }, documents: { open, read: () => [] } },
  };
  const documents = {
    insertBatch: async (_: unknown, batch: RawBatch, settings: Document) => {
      await scene.beforeInsert?.();
      const { w } = settings['writeConcern'] as { readonly w: unknown };
      const order = settings['isInOrder'] === true ? ' in order' : '';
      writes.push(`insert ${batch.list.count}${order}, w: ${String(w)}`);
      return { count: batch.list.count, totalBytes: batch.bytes, taken: [] };
    },
    delete: async (_: unknown, ids: readonly unknown[]) => {
      writes.push(`delete ${ids.length}`);
      await Promise.resolve();
    },
    findUnequal: async () => await Promise.resolve([]),
  };
  const destination = {
    documents,
    transfer: async <T>(
      _: string,
      run: (attempt: number) => Promise<T>,
      isPassing: (error: unknown) => boolean = isTransient,
    ) => {
      for (let attempt = 0; ; attempt++) {
        try {
          return await run(attempt);
        } catch (error) {
          if (!isPassing(error)) throw error;
        }
      }
    },
    together: async (run: (concern: object) => Promise<void>) => {
      await run({ w: 1 });
      scene.afterTogether?.();
    },
  };
  const monitor = new SyncMonitor();
  monitor.restarts = scene.restarts ?? 0;
  const pace = {
    concurrentBatches: scene.concurrentBatches ?? Infinity,
    fetch: { count: scene.fetchCount ?? Infinity, bytes: Infinity },
    copy: nothing,
  };
  const copier = new RangeCopier(
    source as unknown as Source,
    destination as unknown as Destination,
    {
      ...{ monitor, logger: createLogger('test', 'fatal') },
      comparison: () => 'hashes',
      ...{ concurrency: requestedConcurrency(2, 2), pace: pace as unknown as WorkPace },
    },
  );
  const collection = {
    ...{ uuid: new UUID(), namespace, options: {}, shardKey: null, isAdopted: false },
    ...{ sizeBytes: 100, documentCount: 1, ...scene.collection },
  } as unknown as TrackedCollection;
  return { copier, collection, queries, fetches, writes, monitor };
}

describe('RangeCopier', () => {
  it('follows a collection that was renamed, and has nothing to copy of one that is gone', async () => {
    for (const code of [serverCode.collectionUuidMismatch, serverCode.namespaceNotFound]) {
      const { copier, collection, queries } = ground({ codes: [code], found: renamed });
      assert.ok((await copier.copyRange(collection, 'all')) > 0);
      assert.deepEqual(
        queries.map(({ coll }) => coll),
        ['items', 'renamed'],
      );
    }
    const gone = ground({ codes: [serverCode.namespaceNotFound] });
    assert.equal(await gone.copier.copyRange(gone.collection, 'all'), 0);
    assert.deepEqual(gone.writes, []);
    const refused = 72;
    const failing = ground({ codes: [refused], found: renamed });
    await assert.rejects(failing.copier.copyRange(failing.collection, 'all'), { code: refused });
  });

  it('begins again after a temporary error where the collection was', async () => {
    const hostUnreachable = 6;
    // It takes the only slot again.
    const scene = { codes: [hostUnreachable], found: renamed, concurrentBatches: 1 };
    const { copier, collection, queries } = ground(scene);
    await copier.copyRange(collection, 'all');
    assert.deepEqual(
      queries.map(({ coll }) => coll),
      ['items', 'items'],
    );
  });

  it('reads a whole collection in natural order, and a part by its index', async () => {
    const bound = { _id: 7 };
    const ranges: readonly (readonly [IdRange | 'all', string])[] = [
      ['all', '$natural'],
      [{ min: null, max: null }, '$natural'],
      [{ min: null, max: bound }, '_id'],
      [{ min: bound, max: null }, '_id'],
    ];
    for (const [range, order] of ranges) {
      const { copier, collection, queries } = ground({});
      await copier.copyRange(collection, range);
      assert.equal(queries[0]?.order, order);
    }
  });

  it('reads no more documents at a time than it may', async () => {
    const { copier, collection, fetches } = ground({ fetchCount: 3 });
    await copier.copyRange(collection, 'all');
    assert.deepEqual(fetches, [3, 3, 3]);
  });

  const mayBeThere: readonly (readonly [string, Scene, boolean])[] = [
    ['in a first attempt', {}, false],
    ['after a restart', { restarts: 1 }, true],
    ['in a second attempt', { codes: [6] }, true],
    ['where an _id determines the shard', { restarts: 1, addressing: 'byId' }, false],
  ];
  for (const [what, scene, isDeleted] of mayBeThere) {
    it(`deletes ${isDeleted ? 'first what may be there already' : 'nothing'} ${what}`, async () => {
      const { copier, collection, writes } = ground({ addressing: 'onEveryShard', ...scene });
      await copier.copyRange(collection, 'all');
      const inserted = 'insert 1, w: majority';
      assert.deepEqual(writes, isDeleted ? ['delete 1', inserted] : [inserted]);
    });
  }

  it('waits for a majority with each insert of a collection of one fetch, and once for others', async () => {
    const fetched = 4 * 1024 * 1024;
    for (const [sizeBytes, w] of [
      [fetched, 'majority'],
      [fetched + 1, '1'],
    ] as const) {
      const { copier, collection, writes } = ground({ collection: { sizeBytes } });
      await copier.copyRange(collection, 'all');
      assert.deepEqual(writes, [`insert 1, w: ${w}`]);
    }
  });

  it('inserts several batches at a time, as many as may be, but a capped collection in order', async () => {
    const inserted = 'insert 1, w: majority';
    const inOrder = 'insert 1 in order, w: majority';
    for (const [scene, expected, write] of [
      [{}, 3, inserted],
      [{ concurrentBatches: 2 }, 2, inserted],
      [{ concurrentBatches: 1 }, 1, inserted],
      [{ collection: { options: { capped: true } } }, 1, inOrder],
    ] as const) {
      let underWay = 0;
      let most = 0;
      const { copier, collection, writes } = ground({
        ...scene,
        batches: [batchOf(1), batchOf(), batchOf(2), batchOf(3)],
        beforeInsert: async () => {
          most = Math.max(most, ++underWay);
          for (let turn = 0; turn < 10; turn++) await setImmediate();
          underWay--;
        },
      });
      await copier.copyRange(collection, 'all');
      assert.equal(most, expected);
      assert.deepEqual(writes, [write, write, write]);
    }
  });

  for (const together of [false, true])
    it(`counts what ${together ? 'a group of collections' : 'a range'} copies once, though its first attempt fails midway`, async () => {
      let inserts = 0;
      const { copier, collection, monitor } = ground({
        collection: { options: { capped: true } },
        batches: [batchOf(1), batchOf(2, 3)],
        // A slot that was not given back would be missed.
        concurrentBatches: 1,
        beforeInsert: async () => {
          await setImmediate();
          const hostUnreachable = 6;
          if (++inserts === 2)
            throw new MongoServerError({ message: 'cut', code: hostUnreachable });
        },
      });
      monitor.copyTally.begin([{ collection }]);
      const bytes = together
        ? await copier.copyTogether([collection])
        : await copier.copyRange(collection, 'all');
      assert.equal(inserts, 4);
      assert.ok(bytes > 0);
      assert.deepEqual([monitor.copiedDocuments, monitor.copiedBytes], [3, bytes]);
      assert.equal(monitor.copyTally.page(1).collections[0]?.estimatedCopiedBytes, bytes);
    });

  it('takes back what a group of collections has copied when it is copied again as a whole', async () => {
    let groups = 0;
    const { copier, collection, monitor, writes } = ground({
      addressing: 'onEveryShard',
      afterTogether: () => {
        const hostUnreachable = 6;
        if (++groups === 1) throw new MongoServerError({ message: 'cut', code: hostUnreachable });
      },
    });
    const bytes = await copier.copyTogether([collection]);
    assert.equal(groups, 2);
    // The attempt before has left them there, and they would make no insert fail.
    assert.deepEqual(writes, ['insert 1, w: 1', 'delete 1', 'insert 1, w: 1']);
    assert.deepEqual([monitor.copiedDocuments, monitor.copiedBytes], [1, bytes]);
  });

  it('fails as its last insert does, after everything was read', async () => {
    const { copier, collection } = ground({
      beforeInsert: async () => {
        await setImmediate();
        throw new Error('not inserted');
      },
    });
    await assert.rejects(copier.copyRange(collection, 'all'), { message: 'not inserted' });
  });
});
