import assert from 'node:assert/strict';
import { SyncError } from '../../service/errors.ts';
import { afterCommit, cannotBeUndone, mayStillCome, requireCommitTaken } from './commit-outcome.ts';
import { Instances } from './instances.ts';
import {
  committed,
  committing,
  instancesOf,
  PlayedSyncer,
  running,
  underWay,
  unknown,
  type Word,
} from './testing/played-syncer.ts';

describe('a commit whose request has failed', () => {
  const { signal } = new AbortController();
  const lost = new Error('nothing answers');
  const cases: readonly (readonly [string, readonly Word[], object | undefined])[] = [
    ['is open while it is under way', [underWay], { name: 'CommitUnknown' }],
    ['is open while that is not known', [unknown], { name: 'CommitUnknown' }],
    ['is open where one of several cannot say', [running, unknown], { name: 'CommitUnknown' }],
    [
      'is open where a tool has a state of its own',
      [{ state: 'INITIALIZING' }],
      { name: 'CommitUnknown' },
    ],
    ['is open where what answers is no progress', [{}], { name: 'CommitUnknown' }],
    ['is open where the second says nothing', [running, {}], { name: 'CommitUnknown' }],
    ['is open where the first says nothing', [{}, running], { name: 'CommitUnknown' }],
    ['is half given where one has it', [committing, running], { name: 'CommitUnknown' }],
    ['has failed where none is under way', [running, running], lost],
    ['has been taken where all have it', [committing, committed], undefined],
  ];
  for (const [what, words, expected] of cases) {
    it(what, async () => {
      const all = words.map((word) => new PlayedSyncer([word], []));
      try {
        const instances = await instancesOf(all);
        for (const one of all) one.hasBegun = true;
        const outcome = requireCommitTaken(instances, lost, signal);
        if (expected === undefined) await outcome;
        else await assert.rejects(outcome, expected);
      } finally {
        for (const one of all) await one[Symbol.asyncDispose]();
      }
    });
  }

  it('is open where nothing answers any more', async () => {
    const instances = new Instances([() => ({ url: undefined, apiToken: undefined })]);
    await assert.rejects(requireCommitTaken(instances, lost, signal), {
      name: 'CommitUnknown',
      message: /^nothing answers; the commit was sent and may still be carried out/,
    });
  });
});

describe('an error after a commit was sent', () => {
  const cases: readonly (readonly [string, Error, string, string])[] = [
    [
      'lasts',
      new SyncError('UniqueIndexViolation', 'twice'),
      cannotBeUndone,
      'UniqueIndexViolation',
    ],
    ['passes', new SyncError('ToolUnreachable', 'silent'), mayStillCome, 'CommitUnknown'],
    ['is none of ours', new Error('broken'), cannotBeUndone, 'CommitUnknown'],
  ];
  for (const [what, error, warning, name] of cases) {
    it(`has the name ${name} and says what to do, if it ${what}`, () => {
      const after = afterCommit(error, warning);
      assert.deepEqual([after.name, after.message], [name, `${error.message}; ${warning}`]);
    });
  }
});
