import assert from 'node:assert/strict';
import type { TaskCounts } from '../store/records.ts';
import { countsAtEnd } from './verdict.ts';

const nothing = { documents: 0, bytes: 0 };
const none: TaskCounts = {
  ...{ added: 0, processing: 0, failed: 0, completed: 0, metadataMismatch: 0 },
  ...{ compared: nothing, expected: nothing, isOverflowing: false, disturbed: 0 },
};

/** What is counted, answer by answer. */
async function counted(...answers: readonly Partial<TaskCounts>[]): Promise<number> {
  const left = [...answers];
  const counts = async (): Promise<TaskCounts> => {
    const next = left.shift();
    assert.ok(next, 'it is asked no more often');
    return await Promise.resolve({ ...none, ...next });
  };
  const until = async (condition: () => Promise<boolean> | boolean): Promise<void> => {
    while (!(await condition()));
  };
  const key = { run: 'run', generation: 1, epoch: 1 };
  const { failed } = await countsAtEnd({ stores: { tasks: { counts } } }, { until }, key);
  assert.equal(left.length, 0);
  return failed;
}

describe('countsAtEnd', () => {
  it('waits until the store has the ends of all tasks', async () => {
    assert.equal(await counted({ completed: 2 }), 0);
    assert.equal(await counted({ completed: 1, failed: 1 }), 1);
    assert.equal(await counted({ completed: 1, processing: 1 }, { completed: 1, failed: 1 }), 1);
    assert.equal(await counted({ added: 2 }, { processing: 1, completed: 1 }, { failed: 2 }), 2);
  });
});
