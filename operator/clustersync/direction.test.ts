import assert from 'node:assert/strict';
import { findCondition, isConditionTrue } from '../kube/conditions.ts';
import type { ClusterSyncSpec } from '../api/clustersync.ts';
import { decide } from './decide.ts';
import type { Decision } from './decision.ts';
import { wantedDigest } from './identity.ts';
import {
  answers,
  changed,
  clusterSync,
  phaseAndReadiness,
  readyMessage,
  reversed,
  runningWorld,
} from './testing/worlds.ts';

const options = { reversible: true, enableUserWriteBlocking: true } as const;
const digest = wantedDigest(clusterSync(options));

/** What a sync reports in each stage, in both directions. */
const stages = {
  copying: answers.copy,
  applying: answers.changes,
  paused: answers.paused,
  committing: answers.committing,
  committed: answers.committed,
} as const;
type Stage = keyof typeof stages;

/** Commands and Ready, for a sync in the requested direction and for one in the other. */
type Row = readonly [sent: string, ready: string];
const rows: Readonly<
  Record<Stage, Readonly<Record<ClusterSyncSpec['state'], readonly [own: Row, other: Row]>>>
> = {
  copying: {
    Running: [
      ['', 'InitialCopy: False InitialCopy'],
      ['', 'Stalled: False NotCommitted'],
    ],
    Paused: [
      ['pause', 'InitialCopy: False Pausing'],
      ['pause', 'Reversing: False Pausing'],
    ],
    Committed: [
      ['', 'InitialCopy: False InitialCopy'],
      ['', 'Stalled: False NotCommitted'],
    ],
  },
  applying: {
    Running: [
      ['', 'ChangeApplication: True InSync'],
      ['', 'Stalled: False NotCommitted'],
    ],
    Paused: [
      ['pause', 'ChangeApplication: False Pausing'],
      ['pause', 'Reversing: False Pausing'],
    ],
    Committed: [
      ['commit', 'ChangeApplication: False Committing'],
      ['', 'Stalled: False NotCommitted'],
    ],
  },
  // Until it is resumed, this looks like one that was paused while it was being reversed.
  paused: {
    Running: [
      ['resume', 'Paused: False Resuming'],
      ['resume', 'Paused: False Resuming'],
    ],
    Paused: [
      ['', 'Paused: True Paused'],
      ['', 'Paused: True Paused'],
    ],
    Committed: [
      ['resume', 'Paused: False Resuming'],
      ['resume', 'Paused: False Resuming'],
    ],
  },
  // It is reversed once it is committed.
  committing: {
    Running: [
      ['', 'Committing: False Committing'],
      ['', 'Reversing: False Reversing'],
    ],
    Paused: [
      ['', 'Committing: False Committing'],
      ['', 'Reversing: False Pausing'],
    ],
    Committed: [
      ['', 'Committing: False Committing'],
      ['', 'Reversing: False Reversing'],
    ],
  },
  committed: {
    Running: [
      ['', 'Committed: True Committed'],
      ['reverse', 'Reversing: False Reversing'],
    ],
    Paused: [
      ['', 'Committed: True Committed'],
      ['', 'Reversing: True Paused'],
    ],
    Committed: [
      ['', 'Committed: True Committed'],
      ['reverse', 'Reversing: False Reversing'],
    ],
  },
};

const there = { Forward: 'forward', Reverse: 'back' } as const;

function decided(spec: Partial<ClusterSyncSpec>, stage: Stage, goes: keyof typeof there): Decision {
  const told = changed(stages[stage], { optionsDigest: digest });
  assert.equal(told.kind, 'progress');
  const answer = goes === 'Forward' ? told : reversed(told);
  return decide(clusterSync({ ...options, ...spec }), runningWorld(answer));
}

describe('a ClusterSync that is created again, of a sync that was reversed or not,', () => {
  for (const direction of ['Forward', 'Reverse'] as const) {
    for (const goes of ['Forward', 'Reverse'] as const) {
      for (const [stage, ofStates] of Object.entries(rows) as [Stage, (typeof rows)[Stage]][]) {
        for (const state of ['Running', 'Paused', 'Committed'] as const) {
          const [own, other] = ofStates[state];
          const [sent, ready] = direction === goes ? own : other;
          it(`is to be ${state} ${direction}, and is ${stage} ${there[goes]}: ${sent || 'nothing'} is sent`, () => {
            const { commands, status } = decided({ direction, state }, stage, goes);
            assert.equal(commands.map(({ command }) => command.name).join(), sent);
            assert.equal(phaseAndReadiness(status), ready, readyMessage(status));
            assert.equal(status.direction, goes);
            const isThere = stage === 'committed' && direction === goes;
            assert.equal(isConditionTrue(status.conditions, 'Committed'), isThere);
            if (direction === goes) return;
            assert.equal(status.canCommit, false);
            assert.equal(status.committedAt, undefined);
          });
        }
      }
    }
  }

  it('says that the sync goes the other way, and what can be done', () => {
    const { status } = decided({ direction: 'Forward', state: 'Committed' }, 'applying', 'Reverse');
    const { message } = findCondition(status.conditions, 'Stalled') ?? {};
    assert.equal(
      message,
      'the direction of the sync is Reverse, and only a committed sync can be reversed: the operator does not commit it. Set spec.direction to Reverse and spec.state to Committed before you set spec.direction to Forward',
    );
  });
});
