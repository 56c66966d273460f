import type { Db, Document } from 'mongodb';

/** The names of the indexes of a collection, without those that are being built: they are listed, too, and may yet be refused. */
export async function builtIndexes(db: Db, coll: string): Promise<string[]> {
  const command = { listIndexes: coll, includeBuildUUIDs: true };
  const all = (await db.runCursorCommand(command).toArray()) as readonly Document[];
  const built = all.filter(({ buildUUID }) => buildUUID === undefined);
  return built.map(({ name }) => String(name)).sort();
}
