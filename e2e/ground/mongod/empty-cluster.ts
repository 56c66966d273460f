import type { MongoClient } from 'mongodb';

const serverDatabases = new Set(['admin', 'config', 'local']);

/** Drops all user databases and the syncer's own, and lets ordinary users write. */
export async function emptyCluster(client: MongoClient): Promise<void> {
  const admin = client.db('admin');
  await admin.command({ setUserWriteBlockMode: 1, global: false });
  const names = await databaseNames(client);
  await Promise.all(names.map(async (name) => await client.db(name).dropDatabase()));
}

/** Names of all databases but the server's own. */
export async function databaseNames(client: MongoClient): Promise<string[]> {
  const { databases } = await client.db('admin').admin().listDatabases({ nameOnly: true });
  return databases.map(({ name }) => name).filter((name) => !serverDatabases.has(name));
}
