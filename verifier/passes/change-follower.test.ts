import assert from 'node:assert/strict';
import { Timestamp } from 'mongodb';
import { hasPassed } from './change-follower.ts';

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
