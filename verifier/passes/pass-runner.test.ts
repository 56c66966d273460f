import assert from 'node:assert/strict';
import { Binary, Timestamp } from 'mongodb';
import { RetryWarnings } from '../../mongo/retry-warnings.ts';
import type { Sides } from '../../mongo/sides.ts';
import { createLogger } from '../../service/logger.ts';
import type { PassRecord, Position, TaskCounts, VerificationRecord } from '../store/records.ts';
import { Wakeup } from '../wakeup.ts';
import { CoordinatorLease, type CoordinatorLeaseContext } from './coordinator-lease.ts';
import { countsAtEnd, PassRunner, type NextPass, type PassContext } from './pass-runner.ts';

function at(t: number): Timestamp {
  return new Timestamp({ t, i: 1 });
}

function followedTo(t: number): Position {
  return { token: new Binary(), time: at(t) };
}

const former: PassRecord = {
  ...{ number: 4, epoch: 1, kind: 'recheck', isAgain: false, plannedTasks: 0, noted: 0 },
  ...{ comparedUpTo: null, readAfter: { source: at(20), destination: at(21) } },
  startedAt: new Date(),
};

/** What is recorded of a pass in which nothing is pending, of a verification that began at the times 10 and 11. */
async function planned(next: Omit<NextPass, 'kind'>): Promise<PassRecord> {
  const compared = { documents: 0, bytes: 0 };
  const none = () => Promise.resolve();
  const signal = new AbortController().signal;
  const context = {
    ...{ signal, logger: createLogger('test', 'fatal'), catalog: {} },
    monitor: { retryWarnings: new RetryWarnings(), addRetry: () => undefined },
    stores: {
      tasks: {
        ...{ drop: none, add: none, forgetOthers: none },
        notes: () => Promise.resolve(new Map()),
        counts: () => Promise.resolve({ compared }),
      },
      rechecks: { all: () => [], forgetUpTo: none },
      mismatches: { forgetBefore: none },
    },
  } as unknown as PassContext;
  const held = {
    ...{ stores: { verifications: { updateAsCoordinator: none } }, wakeup: new Wakeup(), signal },
  } as unknown as CoordinatorLeaseContext;
  const record = { run: 'run', noted: [], generation: former, totals: compared };
  const lease = new CoordinatorLease(held, record as unknown as VerificationRecord, 2);
  const starts = {
    source: { isSharded: false, from: at(10) },
    destination: { isSharded: false, from: at(11) },
  };
  await new PassRunner(context, lease, starts).plan({ kind: 'recheck', ...next });
  const { generation } = lease.record;
  assert.ok(generation);
  assert.equal(generation.number, 5);
  return generation;
}

describe('PassRunner', () => {
  const cases: readonly (readonly [string, Omit<NextPass, 'kind'>, Sides<Timestamp>])[] = [
    [
      'every change that was followed',
      { followed: { source: followedTo(30), destination: followedTo(31) } },
      { source: at(30), destination: at(31) },
    ],
    [
      'what was there at the start, on a side that was not followed yet',
      { followed: { source: null, destination: followedTo(31) } },
      { source: at(10), destination: at(31) },
    ],
    [
      'what the last pass must see, although less was followed',
      {
        followed: { source: followedTo(30), destination: null },
        readAfter: { source: at(40), destination: at(41) },
      },
      { source: at(40), destination: at(41) },
    ],
  ];
  for (const [what, next, expected] of cases) {
    it(`plans a pass whose reads see ${what}`, async () => {
      const { readAfter, comparedUpTo } = await planned(next);
      assert.deepEqual(readAfter, expected);
      assert.deepEqual(comparedUpTo, former.readAfter);
    });
  }
});

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
