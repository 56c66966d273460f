import assert from 'node:assert/strict';
import type { Hold } from './hold.ts';
import { planRelease, type WorkloadView } from './plan.ts';
import {
  carriedOut,
  down,
  ending,
  hold,
  outline,
  refused,
  up,
  views,
} from './testing/two-workloads.ts';

describe('the next step for a hold whose ClusterSync is gone', () => {
  const cases: readonly (readonly [string, Hold, readonly WorkloadView[], string])[] = [
    ['goes the way back', hold, down, 'record web=3,queue=1 NotAskedFor'],
    ['gives the sizes back', ending, down, 'scale web=3,queue=1'],
    ['forgets them', ending, up, 'drop'],
    ['waits where it may not scale', ending, views(refused, refused), 'none'],
    ['leaves at zero what a commit has stopped', carriedOut, down, 'drop'],
    [
      'goes the way back after a commit where that is wanted',
      { ...carriedOut, afterCommit: 'ScaleBack' },
      down,
      'record web=3,queue=1 sent NotAskedFor ScaleBack',
    ],
  ];
  for (const [what, given, workloads, expected] of cases) {
    it(what, () => {
      assert.equal(outline({ step: planRelease(given, workloads) }), expected);
    });
  }
});
