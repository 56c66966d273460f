import assert from 'node:assert/strict';
import { findCondition } from '../kube/conditions.ts';
import {
  answers,
  changed,
  commandsToShards,
  decideOn,
  refused,
  reversed,
  shardedWorld,
} from './testing/worlds.ts';

const { changes, paused, committing, committed } = answers;

describe('several instances, once the other direction is requested', () => {
  const backwards = { reversible: true, direction: 'Reverse' } as const;
  const unready = changed(changes, { canCommit: false });
  const said = (answer: typeof changes, commitUnderWay: boolean) =>
    changed(answer, { canCommit: false, commitUnderWay });
  for (const [what, scenes, spec, expected] of [
    ['complete a commit', [committing, changes, committing], backwards, ['commit 1']],
    ['complete its last part', [committed, changes, committed], backwards, ['commit 1']],
    [
      'complete one by the word of the instance that lacks it',
      [committed, said(changes, true), committing],
      backwards,
      ['commit 1'],
    ],
    [
      'complete a commit that is to be paused',
      [committing, changes, said(paused, true)],
      { ...backwards, state: 'Paused' },
      ['resume 2', 'commit 1'],
    ],
    [
      'commit none that is handed over',
      [committed, unready, committed],
      backwards,
      ['reverse 0', 'reverse 2'],
    ],
    [
      'commit none that is handed over, though an older answer shows a commit',
      [committed, said(changes, false), committing],
      backwards,
      ['reverse 0'],
    ],
    [
      'commit none that is reversed already',
      [committed, reversed(changes), committed],
      backwards,
      ['reverse 0', 'reverse 2'],
    ],
    [
      'leave a reversal paused',
      [said(paused, false), committed, paused],
      { ...backwards, state: 'Paused' },
      [],
    ],
    [
      'resume a reversal',
      [said(paused, false), committed, paused],
      backwards,
      ['resume 0', 'resume 2', 'reverse 1'],
    ],
  ] as const)
    it(what, () => {
      assert.deepEqual(commandsToShards(shardedWorld(scenes), spec).sort(), [...expected].sort());
    });

  it('say what keeps them from completing a commit', () => {
    const behind = said(changes, true);
    const scene = { answer: behind, command: refused('commit', 'FeatureVersionNotSupported') };
    const reasons = ([behind, scene] as const).map((one) => {
      const { status } = decideOn(shardedWorld([committing, one, committing]), backwards);
      return findCondition(status.conditions, 'Ready')?.reason;
    });
    assert.deepEqual(reasons, ['Committing', 'PreconditionFailed']);
  });
});
