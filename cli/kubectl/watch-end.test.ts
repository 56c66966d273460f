import assert from 'node:assert/strict';
import { readSync, readVerification } from './resources.ts';
import { watchEnd } from './watch-end.ts';

/** An object whose spec has generation 3, and its status. */
function object(
  phase: string,
  consistent = 'True',
  observedGeneration = 3,
): Parameters<typeof readSync>[0] {
  const conditions = [{ type: 'Consistent', status: consistent }];
  return { metadata: { generation: 3 }, status: { phase, observedGeneration, conditions } };
}

describe('watchEnd', () => {
  const committed = object('Committed');
  const equal = object('Succeeded');
  const failed = object('Failed', 'Unknown');
  const cases = [
    ['a commit without a verification', committed, [], 0],
    ['a commit and equal data', committed, [equal, equal], 0],
    ['a difference', committed, [equal, object('Failed', 'False')], 1],
    ['a verdict on the data before a reversal', committed, [object('Succeeded', 'Unknown')], 1],
    ['a verification under way', committed, [failed, object('Checking')], undefined],
    ['a verification without a status', committed, [{ metadata: { generation: 1 } }], undefined],
    ['a verdict on an earlier spec', committed, [object('Succeeded', 'True', 2)], undefined],
    ['a sync that is not committed', object('Committing'), [equal], undefined],
    ['a commit that is about an earlier spec', object('Committed', 'True', 2), [], undefined],
  ] as const;
  for (const [what, sync, verifications, expected] of cases) {
    it(`is ${String(expected)} for ${what}`, () => {
      const unequal = new Set<string>();
      const read = verifications.map(readVerification);
      assert.equal(watchEnd(readSync(sync), read, unequal), expected);
    });
  }

  it('is 1 once a verification has disappeared without having been seen to be equal', () => {
    const sync = readSync(committed);
    for (const [seen, expected] of [
      [object('Failed', 'False'), 1],
      [object('Checking', 'Unknown'), 1],
      [equal, 0],
    ] as const) {
      const unequal = new Set<string>();
      watchEnd(sync, [readVerification(seen)], unequal);
      assert.equal(watchEnd(sync, [], unequal), expected);
    }
  });
});
