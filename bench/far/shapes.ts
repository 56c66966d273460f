import type { Db, MongoClient } from 'mongodb';
import { inGroupsOf } from '../../service/groups.ts';

/** What a backlog consists of: changes of many documents, mixed, or what cannot be shared out. */
export const shapes = ['many documents', 'one document', 'one transaction'] as const;
export type Shape = (typeof shapes)[number];

export function shapeNamed(name: string): Shape {
  const shape = shapes.find((each) => each === name);
  if (shape === undefined) throw new Error(`there is no ${name}, only ${shapes.join(', ')}`);
  return shape;
}

/** Operations sent in one command. */
const commandLength = 1_000;

const hotCollection = 'hot';

/** Creates what the shapes write to: its creation would be one event more. */
export async function createHotCollection(db: Db): Promise<void> {
  await db.createCollection(hotCollection);
}

/** Changes one document again and again. @returns how many events that makes. */
export async function writeHotDocument(db: Db, events: number): Promise<number> {
  const hot = db.collection<{ _id: number; count: number }>(hotCollection);
  const update = {
    updateOne: { filter: { _id: 1 }, update: { $inc: { count: 1 } }, upsert: true },
  };
  for (const group of inGroupsOf(Array<typeof update>(events).fill(update), commandLength))
    await hot.bulkWrite([...group]);
  return events;
}

/** Inserts documents in one transaction. @returns how many events that makes. */
export async function writeTransaction(
  client: MongoClient,
  db: Db,
  events: number,
): Promise<number> {
  const text = 'x'.repeat(200);
  const documents = Array.from({ length: events }, (_, n) => ({ n, text }));
  await client.withSession(async (session) => {
    await session.withTransaction(async () => {
      for (const group of inGroupsOf(documents, commandLength))
        await db.collection(hotCollection).insertMany([...group], { session });
    });
  });
  return events;
}

/** The document that is changed again and again, and the number of those beside it. */
export async function hotState(db: Db): Promise<unknown> {
  const hot = db.collection<{ _id: number }>(hotCollection);
  return [await hot.findOne({ _id: 1 }), await hot.estimatedDocumentCount()];
}
