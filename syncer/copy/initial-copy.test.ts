import assert from 'node:assert/strict';
import fc from 'fast-check';
import { BSON, UUID } from 'mongodb';
import { RawBatch } from '../../mongo/raw-cursor.ts';
import { createLogger } from '../../service/logger.ts';
import type { Destination } from '../destination/destination.ts';
import type { WorkPace } from '../limits/pace.ts';
import { SyncMonitor } from '../monitor/monitor.ts';
import { requestedConcurrency } from '../options/copy-concurrency.ts';
import type { Source } from '../source/source.ts';
import type { TrackedCollection } from '../store/records.ts';
import type { TrackedCatalog } from '../store/tracked-catalog.ts';
import type { WorkStore } from '../store/work-store.ts';
import { farApart, InitialCopy } from './initial-copy.ts';

const nothing = async (): Promise<void> => {
  await Promise.resolve();
};

describe('farApart', () => {
  const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

  it('keeps every part once, and begins with the first', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 500 }), (count) => {
        const parts = farApart(upTo(count));
        assert.deepEqual(
          parts.toSorted((one, other) => one - other),
          upTo(count),
        );
        if (count > 0) assert.equal(parts[0], 0);
      }),
    );
  });

  it('comes to every shard soon, where chunks go to them in turn', () => {
    for (const shards of [2, 3, 4, 5, 8]) {
      for (const chunksPerShard of [2, 3, 4]) {
        const chunks = shards * chunksPerShard;
        const parts = farApart(upTo(10 * chunks));
        const first = parts.slice(0, 3 * shards);
        const met = new Set(first.map((part) => Math.floor(part / 10) % shards));
        assert.equal(met.size, shards, `${shards} shards, ${chunks} chunks: ${first.join(' ')}`);
      }
    }
  });
});

describe('InitialCopy', () => {
  it('copies a collection of the changes as one that an attempt before may have left there', async () => {
    const writes: string[] = [];
    const note = (write: string) => async () => {
      writes.push(write);
      await Promise.resolve();
    };
    const array = BSON.serialize({ 0: { _id: 1 } });
    const batches = [new RawBatch(array, array.length, undefined)];
    const cursor = {
      next: async () => await Promise.resolve(batches.shift()),
      [Symbol.asyncDispose]: nothing,
    };
    const source = {
      kind: { addressingOf: () => 'onEveryShard' },
      documents: { open: async () => await Promise.resolve(cursor) },
    };
    const insertBatch = async (): Promise<object> => {
      await note('insert')();
      return { count: 1, totalBytes: array.length, taken: [] };
    };
    const destination = {
      documents: { insertBatch, delete: note('delete') },
      transfer: async (_: string, run: (attempt: number) => Promise<unknown>) => await run(0),
    };
    const pace = { concurrentBatches: Infinity, fetch: { count: 1, bytes: 1 }, copy: nothing };
    const copy = new InitialCopy({
      source: source as unknown as Source,
      destination: destination as unknown as Destination,
      catalog: {} as unknown as TrackedCatalog,
      store: { completeCollections: note('complete') } as unknown as WorkStore,
      ...{ monitor: new SyncMonitor(), logger: createLogger('test', 'fatal') },
      pace: pace as unknown as WorkPace,
      settings: {
        ...{ concurrency: requestedConcurrency(1, 1), partitionMebibytes: 1 },
        share: { index: 0, count: 1, isByValue: true },
      },
    });
    const collection = {
      ...{ uuid: new UUID(), namespace: { db: 'shop', coll: 'items' }, options: {} },
      ...{ isAdopted: false, sizeBytes: 100, documentCount: 1 },
    } as unknown as TrackedCollection;
    await copy.copyCollection(collection);
    assert.deepEqual(writes, ['delete', 'insert', 'complete']);
  });
});
