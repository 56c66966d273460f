import assert from 'node:assert/strict';
import type { ErrorName } from '../../service/error-table.ts';
import { SyncError } from '../../service/errors.ts';
import { everythingHolds } from '../testing/everything-holds.ts';
import {
  requireNoParameters,
  stateAfter,
  type Command,
  type Situation,
  type SyncState,
} from './transitions.ts';

const states = ['IDLE', 'RUNNING', 'PAUSED', 'COMMITTING', 'COMMITTED'] as const;
const commands = ['start', 'pause', 'resume', 'commit', 'reverse', 'repair'] as const;

/** The state that each command leads to from each state; a dash if it is refused. */
const table: Readonly<Record<SyncState, readonly string[]>> = {
  //     start, pause, resume, commit, reverse, repair
  IDLE: ['RUNNING', '-', '-', '-', '-', '-'],
  RUNNING: ['-', 'PAUSED', '-', 'COMMITTING', '-', 'RUNNING'],
  PAUSED: ['-', '-', 'RUNNING', '-', '-', '-'],
  COMMITTING: ['-', '-', '-', '-', '-', '-'],
  COMMITTED: ['-', '-', '-', '-', 'RUNNING', '-'],
};

const nameOf = (command: Command, situation: Situation): string => {
  try {
    return stateAfter(command, situation);
  } catch (error) {
    assert.ok(error instanceof SyncError);
    return error.name;
  }
};

describe('transitions', () => {
  for (const state of states) {
    for (const [index, command] of commands.entries()) {
      const expected = table[state][index] ?? '';
      it(`${command} in ${state}: ${expected === '-' ? 'refused' : expected}`, () => {
        const situation = { ...everythingHolds, state };
        if (expected !== '-') {
          assert.equal(stateAfter(command, situation), expected);
          return;
        }
        assert.throws(
          () => stateAfter(command, situation),
          (error: SyncError) =>
            error.name === 'InvalidStateTransition' &&
            error.message.includes(`the state is ${state}`),
        );
      });
    }
  }

  it('repair takes a sync that has stopped, unless another process has it', () => {
    const running = { ...everythingHolds, state: 'RUNNING' } as const;
    const stopped = (name: ErrorName): Situation => ({
      ...running,
      failure: new SyncError(name, 'stopped'),
    });
    assert.equal(nameOf('repair', stopped('OplogRolledOver')), 'RUNNING');
    assert.equal(nameOf('resume', stopped('OplogRolledOver')), 'OplogRolledOver');
    const superseded = 'SupersededByOtherInstance';
    assert.equal(nameOf('repair', stopped(superseded)), superseded);
  });

  it('repair in COMMITTING is refused with what to do, whether or not the sync has stopped', () => {
    const committing = { ...everythingHolds, state: 'COMMITTING' } as const;
    const failure = new SyncError('OplogRolledOver', 'forgotten');
    const remedy = /once a commit was accepted, .* the destination Keep, .*initialData: Present/;
    for (const [situation, name] of [
      [committing, 'InvalidStateTransition'],
      [{ ...committing, failure }, 'OplogRolledOver'],
    ] as const)
      assert.throws(() => stateAfter('repair', situation), { name, message: remedy });
    assert.throws(() => stateAfter('resume', { ...committing, failure }), failure);
  });

  it('commit needs the initial copy, reverse a reversible sync', () => {
    const running = { ...everythingHolds, state: 'RUNNING' } as const;
    assert.equal(nameOf('commit', { ...running, canCommit: false }), 'CannotCommitYet');
    const versionRefusal = new SyncError('FeatureVersionNotSupported', '5.0');
    const refused = { ...running, canCommit: false, versionRefusal };
    assert.equal(nameOf('commit', refused), 'FeatureVersionNotSupported');
    assert.equal(nameOf('pause', refused), 'PAUSED');
    assert.equal(nameOf('commit', { ...running, isCallerGone: true }), 'CannotCommitYet');
    const committed = { ...everythingHolds, state: 'COMMITTED' } as const;
    assert.equal(nameOf('reverse', { ...committed, isReversible: false }), 'NotReversible');
  });

  it('a sync that has failed says why, to every command but start, and a repair in RUNNING', () => {
    const failure = new SyncError('OplogRolledOver', 'forgotten');
    for (const state of states) {
      const situation = { ...everythingHolds, state, failure };
      for (const command of commands) {
        if (command === 'start' || (command === 'repair' && state === 'RUNNING')) continue;
        assert.equal(nameOf(command, situation), 'OplogRolledOver');
      }
      if (state !== 'IDLE') assert.equal(nameOf('start', situation), 'InvalidStateTransition');
    }
  });

  it('commands without parameters take an empty object alone', () => {
    requireNoParameters('pause', {});
    for (const body of [undefined, null, 'x', { force: true }])
      assert.throws(() => {
        requireNoParameters('pause', body);
      }, /pause takes no parameters/);
  });
});
