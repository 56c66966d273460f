import assert from 'node:assert/strict';
import { rowOf } from './testing/rows.ts';
import { timelineOf } from './timeline.ts';

function states(different: Parameters<typeof rowOf>[1]): string[] {
  return timelineOf(rowOf('a', different)).map(({ name, state }) => `${name} ${state}`);
}

const notYet = { startedAt: null, copiedAt: null } as const;
const committedAt = '2026-01-01T02:00:00Z';

describe('timelineOf', () => {
  it('goes from the creation to the commit', () => {
    assert.deepEqual(states({ phase: 'Pending', ...notYet }), [
      'Starting current',
      'Initial copy waiting',
      'Applying changes waiting',
      'Committed waiting',
    ]);
    assert.equal(states({ phase: 'InitialCopy', copiedAt: null })[1], 'Initial copy current');
    assert.deepEqual(states({}), [
      'Starting done',
      'Initial copy done',
      'Applying changes current',
      'Committed waiting',
    ]);
    assert.equal(states({ phase: 'Committing' })[2], 'Committing current');
    assert.deepEqual(states({ phase: 'Committed', committedAt }), [
      'Starting done',
      'Initial copy done',
      'Applying changes done',
      'Committed done',
    ]);
  });

  it('has the times of each part', () => {
    assert.deepEqual(
      timelineOf(rowOf('a', { phase: 'Committed', committedAt })).map(({ from, to }) => [from, to]),
      [
        ['2026-01-01T00:00:00Z', '2026-01-01T00:00:10Z'],
        ['2026-01-01T00:00:10Z', '2026-01-01T00:10:00Z'],
        ['2026-01-01T00:10:00Z', committedAt],
        [committedAt, null],
      ],
    );
  });

  it('shows where a sync is stalled or paused', () => {
    assert.equal(states({ phase: 'Stalled', copiedAt: null })[1], 'Initial copy stalled');
    assert.equal(states({ phase: 'Stalled', ...notYet })[0], 'Starting stalled');
    assert.equal(states({ phase: 'Paused' })[2], 'Applying changes paused');
  });

  it('continues after a commit when the sync is reversed', () => {
    const reversed = { isReversed: true, committedAt } as const;
    assert.deepEqual(states({ ...reversed, phase: 'Reversing' }), [
      'Initial copy done',
      'Committed done',
      'Reversing current',
      'Committed back waiting',
    ]);
    assert.equal(states(reversed)[2], 'Applying changes backwards current');
    assert.equal(states({ ...reversed, phase: 'Committed' })[3], 'Committed back done');
  });
});
