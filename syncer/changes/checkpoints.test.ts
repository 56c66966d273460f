import assert from 'node:assert/strict';
import { setImmediate } from 'node:timers/promises';
import { Timestamp } from 'mongodb';
import { Checkpoints } from './checkpoints.ts';
import type { StreamPosition } from './stream-positions.ts';

const positionOf = (number: number): StreamPosition => ({
  token: Uint8Array.of(number),
  time: new Timestamp({ t: number, i: 0 }),
});

/** Checkpoints, and the numbers of the positions that have been stored. Of three, an earlier one takes longer. */
function recording(): { readonly checkpoints: Checkpoints; readonly stored: number[] } {
  const stored: number[] = [];
  const saveCheckpoint = async ({
    appliedTime,
  }: {
    readonly appliedTime: Timestamp;
  }): Promise<void> => {
    for (let turn = appliedTime.t; turn < 4; turn++) await setImmediate();
    stored.push(appliedTime.t);
  };
  const figures = { appliedOpsTime: null, eventsApplied: 0 };
  const failed = (error: unknown): void => {
    throw error;
  };
  return { checkpoints: new Checkpoints({ saveCheckpoint }, figures, failed), stored };
}

describe('Checkpoints', () => {
  it('stores one of many positions that are reached in one go', async () => {
    const { checkpoints, stored } = recording();
    for (let number = 1; number <= 1_000; number++) checkpoints.reached(positionOf(number));
    await checkpoints.stop();
    assert.deepEqual(stored, [1]);
    // A second has not passed.
    checkpoints.reached(positionOf(1_001));
    await checkpoints.stop();
    assert.deepEqual(stored, [1]);
  });

  it('stores each position that it is asked to, in order', async () => {
    const { checkpoints, stored } = recording();
    checkpoints.reached(positionOf(1));
    await Promise.all([checkpoints.save(positionOf(2)), checkpoints.save(positionOf(3))]);
    assert.deepEqual(stored, [1, 2, 3]);
  });

  it('reports the failure of a checkpoint that nobody waits for, and leaves others to their callers', async () => {
    const error = new Error('not stored');
    const saveCheckpoint = async (): Promise<void> => {
      await Promise.reject(error);
    };
    const failures: unknown[] = [];
    const figures = { appliedOpsTime: null, eventsApplied: 0 };
    const checkpoints = new Checkpoints({ saveCheckpoint }, figures, (failure) => {
      failures.push(failure);
    });
    await assert.rejects(checkpoints.save(positionOf(1)), error);
    await checkpoints.stop();
    assert.deepEqual(failures, []);
    const others: unknown[] = [];
    const own = new Checkpoints({ saveCheckpoint }, figures, (failure) => {
      others.push(failure);
    });
    own.reached(positionOf(2));
    await own.stop();
    await setImmediate();
    assert.deepEqual(others, [error]);
  });
});
