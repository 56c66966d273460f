import assert from 'node:assert/strict';
import { SyncError } from '../../service/errors.ts';
import { isReaderGone } from '../../service/terminal.ts';
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
  const paused: Word = { ...running, state: 'PAUSED' };
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
    ['is half given where one is paused', [committing, paused], { name: 'CommitUnknown' }],
    ['has failed where none is under way', [running, running], lost],
    ['has been taken where all have it', [committing, committed], undefined],
  ];
  for (const [what, words, expected] of cases) {
    it(`${what}, for the command`, async () => {
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

  it('is open, for the command, where nothing answers any more', async () => {
    const instances = new Instances([() => ({ url: undefined, apiToken: undefined })]);
    await assert.rejects(requireCommitTaken(instances, lost, signal), {
      name: 'CommitUnknown',
      message: /^nothing answers; the commit was sent and may still be carried out/,
    });
  });
});

describe('an error after a commit was sent', () => {
  const silent = new SyncError('ToolUnreachable', 'silent');
  const twice = new SyncError('UniqueIndexViolation', 'twice');
  const cases: readonly (readonly [string, Error, string, string])[] = [
    ['lasts', twice, cannotBeUndone, 'UniqueIndexViolation'],
    ['lasts, and the outcome is open', twice, mayStillCome, 'UniqueIndexViolation'],
    ['hides the outcome', silent, mayStillCome, 'CommitUnknown'],
    ['passes, and the commit was accepted', silent, cannotBeUndone, 'ToolUnreachable'],
    ['is none of ours', new Error('broken'), cannotBeUndone, 'InternalError'],
  ];
  for (const [what, error, warning, name] of cases) {
    it(`has the name ${name} and says what to do, if it ${what}`, () => {
      const after = afterCommit(error, warning);
      assert.deepEqual([after.name, after.message], [name, `${error.message}; ${warning}`]);
    });
  }

  it('is still that of an output whose reader has gone', () => {
    const cause = Object.assign(new Error('write EPIPE'), { code: 'EPIPE' });
    const lost = new SyncError('OutputLost', 'standard output takes nothing', { cause });
    assert.ok(isReaderGone(afterCommit(lost, cannotBeUndone)));
  });
});
