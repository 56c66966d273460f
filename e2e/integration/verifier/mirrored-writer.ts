import { setTimeout as delay } from 'node:timers/promises';
import type { Db, Filter } from 'mongodb';

type Operation = (db: Db) => Promise<unknown>;

interface Row {
  _id: object | string | number;
  [field: string]: unknown;
}

/** A generator of random numbers in [0, 1) that gives the same ones for the same seed (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/**
 * Writes to the source, and the same a little later to the destination, as a sync tool without any fault would do it.
 * Resolves when both sides have everything.
 */
export async function writeToBoth(
  source: Db,
  destination: Db,
  {
    seed,
    operations,
    signal,
    isOfDocuments = false,
  }: {
    readonly seed: number;
    /** At most. */
    readonly operations: number;
    /** Ends it before. */
    readonly signal?: AbortSignal;
    /** Leaves out what changes the catalog: what a driver does not repeat by itself when a primary steps down. */
    readonly isOfDocuments?: boolean;
  },
): Promise<void> {
  const random = seededRandom(seed);
  const queue: Operation[] = [];
  let isOver = false;
  const follow = async (): Promise<void> => {
    for (;;) {
      const operation = queue.shift();
      if (operation) await operation(destination);
      else if (isOver) return;
      if (!operation || random() < 0.02) await delay(Math.floor(random() * 60));
    }
  };
  const following = follow();
  for (let number = 0; number < operations && !signal?.aborted; number++) {
    const operation = randomOperation(random, number, isOfDocuments);
    await operation(source);
    queue.push(operation);
  }
  isOver = true;
  await following;
}

function randomOperation(random: () => number, number: number, isOfDocuments: boolean): Operation {
  const pick = Math.floor(random() * 300);
  const _id = [pick, String(pick), { k: pick }][pick % 3] ?? pick;
  const filter = { _id: { $eq: _id } } as Filter<Row>;
  const value = Math.floor(random() * 1000);
  const rows = (db: Db) => db.collection<Row>(`rows${pick % 2}`);
  const choice = random() * (isOfDocuments ? 0.97 : 1);
  if (choice < 0.4) {
    return async (db) => await rows(db).replaceOne(filter, { value, number }, { upsert: true });
  }
  if (choice < 0.7) {
    return async (db) =>
      await rows(db).updateOne(filter, { $set: { [`f${value % 5}`]: value, number } });
  }
  if (choice < 0.9) return async (db) => await rows(db).deleteOne(filter);
  if (choice < 0.97) {
    return async (db) => await db.collection<Row>('capped').insertOne({ _id: number, value });
  }
  if (choice < 0.98) {
    return async (db) => {
      await db.dropCollection('short').catch(() => undefined);
      await db.collection<Row>('short').insertMany([{ _id: number }, { _id: 'x' }]);
    };
  }
  if (choice < 0.985) {
    return async (db) => {
      const name = `moved${value % 3}`;
      await db.collection<Row>('moving').insertOne({ _id: number });
      await db.renameCollection('moving', name, { dropTarget: true });
    };
  }
  if (choice < 0.99) {
    return async (db) =>
      await db.collection('rows0').createIndexes([{ key: { [`f${value % 5}`]: 1 } }]);
  }
  return async (db) => {
    await db.createCollection('rows1').catch(() => undefined);
    await db.command({ collMod: 'rows1', validator: { value: { $lt: 2000 + value } } });
  };
}
