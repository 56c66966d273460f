import assert from 'node:assert/strict';
import { MongoClient, MongoServerError } from 'mongodb';
import { userWritesBlocked } from '../../ground/mongod/users.ts';
import type { SyncerProcess } from '../../ground/syncer-process.ts';
import { until } from '../../ground/until.ts';
import type { Side } from './cluster-pair.ts';

/** Waits until the log of a syncer has a text. */
export async function inLog(syncer: SyncerProcess, text: string): Promise<void> {
  await until(text, async () => (await syncer.log()).includes(text));
}

/** Whether ordinary users cannot write to a side: one tries, in the database `probe`, and leaves nothing there. */
export async function isBlocked({ set }: Side): Promise<boolean> {
  await using client = new MongoClient(set.uri('app'));
  const probe = client.db('probe').collection('probe');
  try {
    await probe.insertOne({});
    await probe.drop();
    return false;
  } catch (error) {
    if (error instanceof MongoServerError && error.code === userWritesBlocked) return true;
    throw error;
  }
}

/** Makes sure that a side holds no state of a sync. */
export async function assertNothingStored({ client }: Side): Promise<void> {
  const state = client.db('clustersync_internal');
  for (const { name } of await state.listCollections({}, { nameOnly: true }).toArray())
    assert.equal(await state.collection(name).countDocuments(), 0, name);
}
