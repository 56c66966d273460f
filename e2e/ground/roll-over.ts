import assert from 'node:assert/strict';
import type { MongoClient, Timestamp } from 'mongodb';
import { codeOf, serverCode } from '../../mongo/server-errors.ts';
import { until } from './until.ts';

/** Writes to the database `noise` until nothing of what was in the oplog is left. It is truncated by 16 MiB at a time, or more. */
export async function rollOver(
  { client }: { readonly client: MongoClient },
  deadlineMs?: number,
): Promise<void> {
  const oplog = client.db('local').collection<{ ts: Timestamp }>('oplog.rs');
  const oldest = async (): Promise<Timestamp | undefined> =>
    (await oplog.find().sort({ $natural: 1 }).limit(1).next())?.ts;
  const latest = (await oplog.find().sort({ $natural: -1 }).limit(1).next())?.ts;
  assert.ok(latest);
  await until(
    'the oplog rolls over',
    async () => {
      await client
        .db('noise')
        .collection('noise')
        .insertOne({ text: 'x'.repeat(4_000_000) });
      try {
        return (await oldest())?.greaterThan(latest) === true;
      } catch (error) {
        // The part that was being read has been truncated in the meantime.
        if (codeOf(error) === serverCode.cappedPositionLost) return false;
        throw error;
      }
    },
    deadlineMs,
  );
}
