import assert from 'node:assert/strict';
import { readSync, readVerification } from './resources.ts';
import { watchEnd } from './watch-end.ts';

/** An object whose spec has generation 3, and its status. */
function object(phase: string, observedGeneration = 3): Parameters<typeof readSync>[0] {
  return { metadata: { generation: 3 }, status: { phase, observedGeneration } };
}

describe('watchEnd', () => {
  const committed = object('Committed');
  const cases = [
    ['a commit without a verification', committed, [], 0],
    ['a commit and equal data', committed, [object('Succeeded'), object('Succeeded')], 0],
    ['a difference', committed, [object('Succeeded'), object('Failed')], 1],
    ['a verification under way', committed, [object('Failed'), object('Checking')], undefined],
    ['a verification without a status', committed, [{ metadata: { generation: 1 } }], undefined],
    ['a verdict on an earlier spec', committed, [object('Succeeded', 2)], undefined],
    ['a sync that is not committed', object('Committing'), [object('Succeeded')], undefined],
    ['a commit before a reversal that nobody has seen', object('Committed', 2), [], undefined],
  ] as const;
  for (const [what, sync, verifications, expected] of cases) {
    it(`is ${String(expected)} for ${what}`, () => {
      assert.equal(watchEnd(readSync(sync), verifications.map(readVerification)), expected);
    });
  }
});
