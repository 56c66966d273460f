import assert from 'node:assert/strict';
import { cannotBeUndone, mayStillCome } from '../api/commit-outcome.ts';
import {
  committed,
  committing,
  instancesOf,
  PlayedSyncer,
  refused,
  running,
  taken,
  underWay,
  unknown,
  type Word,
} from '../api/testing/played-syncer.ts';
import { pause } from './pause.ts';

const during = `stopped during the commit: ${cannotBeUndone}`;
const mayCome = `stopped: ${mayStillCome}`;
const refusedText = 'the sync could not be paused (not now); this command has stopped';
const paused: Word = { ...running, state: 'PAUSED' };

describe('a run that is stopped', () => {
  interface Case {
    readonly what: string;
    /** Of each syncer; `undefined` if it is silent. */
    readonly words: readonly (Word | undefined)[];
    readonly isCommitSent?: boolean;
    readonly answer?: object;
    readonly pauses: readonly number[];
    readonly text: string;
  }
  const cases: readonly Case[] = [
    { what: 'pauses the sync', words: [running, running], pauses: [1, 1], text: 'paused' },
    { what: 'leaves a paused one', words: [paused], pauses: [0], text: 'paused' },
    {
      what: 'pauses one whose commit was refused',
      ...{ words: [running], isCommitSent: true, pauses: [1], text: 'paused' },
    },
    {
      what: 'pauses no instance of a commit that another one has',
      ...{ words: [committing, running], isCommitSent: true, pauses: [0, 0], text: during },
    },
    {
      what: 'pauses no instance of a commit that this run has not sent',
      ...{ words: [running, committed], pauses: [0, 0], text: during },
    },
    {
      what: 'leaves a commit under way',
      ...{ words: [committing], isCommitSent: true, pauses: [0], text: during },
    },
    {
      what: 'leaves a committed sync',
      ...{ words: [committed], isCommitSent: true, pauses: [0], text: 'stopped after the commit' },
    },
    {
      what: 'warns of a commit whose outcome is not known',
      ...{ words: [unknown], isCommitSent: true, pauses: [0], text: mayCome },
    },
    {
      what: 'warns of a commit while one syncer is silent',
      ...{ words: [running, undefined], isCommitSent: true, pauses: [0, 0], text: mayCome },
    },
    {
      what: 'pauses nothing while a commit is under way that another command has sent',
      ...{ words: [underWay, running], pauses: [0, 0], text: mayCome },
    },
    { what: 'says no more of a silent sync', words: [undefined], pauses: [0], text: 'stopped' },
    {
      what: 'says why it could not pause',
      ...{ words: [running], answer: refused, pauses: [1], text: refusedText },
    },
    {
      what: 'warns of a commit where it could not pause',
      ...{ words: [running], answer: refused, isCommitSent: true, pauses: [1] },
      text: `${refusedText}: ${mayStillCome}`,
    },
  ];
  for (const { what, words, isCommitSent = false, answer = taken, pauses, text } of cases) {
    it(`${what}${isCommitSent ? ', after it has sent a commit' : ''}`, async () => {
      const all = words.map((word) => new PlayedSyncer(word ? [word] : [], [answer]));
      try {
        const instances = await instancesOf(all);
        for (const [index, one] of all.entries()) {
          one.hasBegun = true;
          one.isSilent = words[index] === undefined;
        }
        const steps: string[] = [];
        const stops: string[] = [];
        const screen = { step: (step: string) => steps.push(step) };
        const page = { stop: (stop: string) => stops.push(stop) };
        await pause({ instances, screen, page }, isCommitSent);
        const said = `${text}; run the same command again to continue`;
        assert.deepEqual([steps, stops], [['pausing', said], [said]]);
        assert.deepEqual(
          all.map(({ commands }) => commands),
          pauses.map((count) => Array.from({ length: count }, () => '/api/v1/pause')),
        );
      } finally {
        for (const one of all) await one[Symbol.asyncDispose]();
      }
    });
  }
});
