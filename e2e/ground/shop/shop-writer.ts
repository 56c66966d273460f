import { MongoClient, ObjectId, type AnyBulkWriteOperation } from 'mongodb';
import { messageOf } from '../../../service/errors.ts';
import { sleep } from '../../../service/sleep.ts';
import { shopDatabase } from './shop-collections.ts';

const turnMs = 50;

/** How the writer works. */
export interface ShopWriterOptions {
  readonly writesPerSecond: number;
  /** Ends it, as `stop` does. */
  readonly signal: AbortSignal;
}

/** An application that keeps writing to the sample data. */
export interface ShopWriter {
  /** Writes that were acknowledged. */
  readonly writes: number;
  /** Ends it and waits for its last write. Rejects when a write has failed. Returns the number of writes. */
  stop(): Promise<number>;
}

/** Starts to insert, update, replace and delete, at a bounded rate, in all collections. */
export function startShopWriter(uri: string, options: ShopWriterOptions): ShopWriter {
  const stopping = new AbortController();
  const signal = AbortSignal.any([options.signal, stopping.signal]);
  const state = { writes: 0 };
  const ended = write(uri, options.writesPerSecond, state, signal).then(
    () => undefined,
    (error: unknown) => new Error(`the writer failed: ${messageOf(error)}`, { cause: error }),
  );
  return {
    get writes() {
      return state.writes;
    },
    async stop() {
      stopping.abort();
      const failure = await ended;
      if (failure) throw failure;
      return state.writes;
    },
  };
}

async function write(
  uri: string,
  writesPerSecond: number,
  state: { writes: number },
  signal: AbortSignal,
): Promise<void> {
  await using client = new MongoClient(uri, { maxPoolSize: 4 });
  const db = client.db(shopDatabase);
  const startedAt = performance.now();
  for (let turn = 0; ; turn++) {
    const due = ((performance.now() - startedAt) / 1000) * writesPerSecond;
    // Never more than one second's worth at once, after whatever delay.
    for (let left = Math.min(due - state.writes, writesPerSecond); left >= 1;) {
      const count = Math.min(20, Math.floor(left));
      for (const [collection, operations] of Object.entries(someWrites(state.writes, count))) {
        await db.collection<ShopDocument>(collection).bulkWrite(operations, { ordered: true });
      }
      state.writes += count;
      left -= count;
    }
    await sleep(turnMs, signal).catch(() => undefined);
    if (signal.aborted) return;
  }
}

/** What the writer touches of the documents of all collections. */
interface ShopDocument {
  readonly _id: number | string | ObjectId;
  readonly customer?: number;
  readonly status?: string;
  readonly orderedAt?: Date;
  readonly lines?: readonly { readonly product: number; readonly count: number }[];
  readonly points?: number;
  readonly seenAt?: Date;
  readonly sku?: string;
  readonly name?: string;
  readonly stock?: number;
  readonly at?: Date;
  readonly line?: string;
}

type Writes = Record<string, AnyBulkWriteOperation<ShopDocument>[]>;

/** The writes from a number on; over time each kind, in each collection. */
function someWrites(from: number, count: number): Writes {
  const writes: Writes = {};
  for (let number = from; number < from + count; number++) {
    const [collection, operation] = writeAt(number);
    (writes[collection] ??= []).push(operation);
  }
  return writes;
}

function writeAt(number: number): readonly [string, AnyBulkWriteOperation<ShopDocument>] {
  // Spread over the documents, each again after a while.
  const id = (number * 37) % 1000;
  const byId = { _id: id };
  switch (number % 8) {
    case 0:
      return ['orders', { insertOne: { document: newOrder(id) } }];
    case 1:
      return ['orders', { updateOne: { filter: byId, update: { $set: { status: 'paid' } } } }];
    case 2:
      return [
        'orders',
        {
          updateOne: { filter: byId, update: { $push: { lines: { product: id, count: number } } } },
        },
      ];
    case 3:
      return ['customers', { updateOne: { filter: byId, update: { $inc: { points: 1 } } } }];
    case 4:
      return [
        'sessions',
        {
          updateOne: {
            filter: { _id: `session-${id}` },
            update: { $currentDate: { seenAt: true } },
            upsert: true,
          },
        },
      ];
    case 5:
      return ['sessions', { deleteOne: { filter: { _id: `session-${id + 7}` } } }];
    case 6:
      return [
        'products',
        {
          replaceOne: {
            filter: byId,
            replacement: {
              sku: `SKU-${String(id).padStart(6, '0')}`,
              name: `new ${number}`,
              stock: number,
            },
          },
        },
      ];
    default:
      return [
        'log',
        {
          insertOne: { document: { _id: new ObjectId(), at: new Date(), line: `write ${number}` } },
        },
      ];
  }
}

function newOrder(customer: number): ShopDocument {
  return { _id: new ObjectId(), customer, status: 'open', orderedAt: new Date(), lines: [] };
}
