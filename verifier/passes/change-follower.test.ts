import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Binary, BSON, Timestamp, type Document } from 'mongodb';
import { RetryWarnings } from '../../mongo/retry-warnings.ts';
import { playedCursors } from '../../mongo/testing/played-cursors.ts';
import { createLogger } from '../../service/logger.ts';
import { ChangeFollower, hasPassed, type ChangeFollowerOptions } from './change-follower.ts';

const before = new Timestamp({ t: 7, i: 1 });
const until = new Timestamp({ t: 7, i: 2 });
const after = new Timestamp({ t: 7, i: 3 });

describe('hasPassed', () => {
  const first = { isEmpty: true, isFirst: true };
  const empty = { isEmpty: true, isFirst: false };
  const full = { isEmpty: false, isFirst: false };

  it('waits for an answer that is empty, or later, since there may be more changes of that very time', () => {
    assert.equal(hasPassed({ ...full, time: until }, until, false), false);
    assert.equal(hasPassed({ ...empty, time: until }, until, false), true);
  });

  it('takes the first answer of a stream, which is always empty, for no sign of its end', () => {
    assert.equal(hasPassed({ ...first, time: until }, until, false), false);
  });

  it('waits for a later answer of a sharded cluster, where another shard may be behind', () => {
    for (const answer of [first, empty, full]) {
      assert.equal(hasPassed({ ...answer, time: until }, until, true), false);
    }
  });

  it('takes a later answer, and no earlier one, whatever it contains', () => {
    for (const answer of [first, empty, full]) {
      for (const isSharded of [false, true]) {
        assert.equal(hasPassed({ ...answer, time: after }, until, isSharded), true);
        assert.equal(hasPassed({ ...answer, time: before }, until, isSharded), false);
      }
    }
  });
});

describe('ChangeFollower', () => {
  it('has passed the time from which it resumes once a later answer than the first is empty', async () => {
    const token = { _data: '820000000700000002' };
    const event = { _id: token, operationType: 'update', ns: { db: 'shop', coll: 'items' } };
    const batches: Document[][] = [[], [{ ...event, documentKey: { _id: 1 } }], []];
    const steps: string[] = [];
    const ended = new AbortController();
    const { cluster } = playedCursors(async () => {
      // What waits for an earlier answer continues first.
      await nextTurn();
      const documents = batches.shift();
      if (!documents) ended.abort();
      ended.signal.throwIfAborted();
      steps.push(`answered with ${documents?.length}`);
      return { documents: documents ?? [], token, isOpen: true };
    });
    const follower = new ChangeFollower({
      ...{ cluster, signal: ended.signal, logger: createLogger('test', 'fatal') },
      ...{ side: 'source', isSharded: false, from: before },
      reached: { token: new Binary(BSON.serialize(token)), time: until },
      monitor: { retryWarnings: new RetryWarnings(), addRetry: () => undefined, changesSeen: 0 },
      selects: async () => await Promise.resolve(true),
      log: { take: () => undefined, isEmpty: true, isFull: false, hasFailed: false },
      onStored: () => undefined,
    } as unknown as ChangeFollowerOptions);
    const passing = follower.passed(until).then(() => steps.push('passed'));
    await assert.rejects(follower.run(), { name: 'AbortError' });
    await passing;
    assert.deepEqual(steps, ['answered with 0', 'answered with 1', 'answered with 0', 'passed']);
  });
});
