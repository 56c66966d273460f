import assert from 'node:assert/strict';
import { Timestamp } from 'mongodb';
import { reversibleSync } from '../testing/reversible-sync.ts';
import { blockedBySync } from './carry-out-reset.ts';

describe('where a reset lets users write again', () => {
  const sync = reversibleSync();
  const writableTime = new Timestamp({ t: 1, i: 1 });
  const cases = [
    ['during the copy and the changes', {}, ['cluster1']],
    ['in a commit', { state: 'COMMITTING' }, ['cluster0', 'cluster1']],
    [
      'in a commit after which users may have written to the destination',
      { state: 'COMMITTING', writableTime, canWrite: true },
      [],
    ],
    [
      'in a commit that is about to let them write there',
      { state: 'COMMITTING', writableTime },
      ['cluster1'],
    ],
    ['after the commit', { state: 'COMMITTED', writableTime, canWrite: true }, []],
  ] as const;
  for (const [when, change, expected] of cases) {
    it(`${when}: ${expected.join() || 'nowhere'}`, () => {
      assert.deepEqual(blockedBySync({ ...sync, ...change }), expected);
      const options = { ...sync.options, enableUserWriteBlocking: false };
      assert.deepEqual(blockedBySync({ ...sync, ...change, options }), []);
    });
  }
});
