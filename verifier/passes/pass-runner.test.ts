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

const compared = { documents: 0, bytes: 0 };
const none = () => Promise.resolve();

/** The passes after that one, of a verification that began at the times 10 and 11, in which nothing is pending, and their lease. */
function runner(
  stores: object,
  generation = former,
): { readonly passes: PassRunner; readonly lease: CoordinatorLease } {
  const signal = new AbortController().signal;
  const context = {
    ...{ signal, logger: createLogger('test', 'fatal'), catalog: {}, stores },
    monitor: { retryWarnings: new RetryWarnings(), addRetry: () => undefined },
  } as unknown as PassContext;
  const held = {
    ...{ stores: { verifications: { updateAsCoordinator: none } }, wakeup: new Wakeup(), signal },
  } as unknown as CoordinatorLeaseContext;
  const record = { run: 'run', noted: [], generation, totals: compared, lastPass: null };
  const lease = new CoordinatorLease(held, record as unknown as VerificationRecord, 2);
  const starts = {
    source: { isSharded: false, from: at(10) },
    destination: { isSharded: false, from: at(11) },
  };
  return { passes: new PassRunner(context, lease, starts), lease };
}

/** Stores in which nothing is pending. */
const planning = {
  tasks: {
    ...{ drop: none, add: none, forgetOthers: none },
    notes: () => Promise.resolve(new Map()),
    counts: () => Promise.resolve({ compared }),
  },
  rechecks: { all: () => [], forgetUpTo: none },
  mismatches: { forgetBefore: none },
};

/** What is recorded of the next pass. */
async function planned(next: Omit<NextPass, 'kind'>): Promise<PassRecord> {
  const { passes, lease } = runner(planning);
  await passes.plan({ kind: 'recheck', ...next });
  const { generation } = lease.record;
  assert.ok(generation);
  assert.equal(generation.number, 5);
  return generation;
}

const noTasks: TaskCounts = {
  ...{ added: 0, processing: 0, failed: 0, completed: 0, metadataMismatch: 0 },
  ...{ compared, expected: compared, isOverflowing: false, disturbed: 0 },
};

/** What is recorded of the end of a pass, of whose tasks this is counted. */
async function ended(counts: Partial<TaskCounts>, { isProven = true } = {}) {
  const { passes, lease } = runner({
    tasks: {
      isOver: () => Promise.resolve(true),
      counts: () => Promise.resolve({ ...noTasks, ...counts }),
      plannedCount: () => Promise.resolve(former.plannedTasks),
      // The pass has noted none.
      notedCount: () => Promise.resolve(isProven ? 0 : 1),
      rangeTasks: () => [],
    },
    mismatches: { numbers: () => Promise.resolve({ mismatches: 0, longestMs: 0 }) },
    coverages: { add: none },
  });
  const ending = passes.ended();
  if (isProven) await ending;
  else await assert.rejects(ending, { name: 'CheckFailed' });
  return lease.record.lastPass;
}

describe('PassRunner', () => {
  it('puts together what the passes before have left, each hundredth time', async () => {
    const folds: unknown[] = [];
    const coverages = {
      fold: async (...fold: readonly unknown[]) => {
        folds.push(fold);
        await Promise.resolve();
      },
    };
    for (const number of [97, 98, 99, 100, 198, 199]) {
      const { passes } = runner({ ...planning, coverages }, { ...former, number });
      await passes.plan({ kind: 'recheck', followed: { source: null, destination: null } });
    }
    assert.deepEqual(folds, [
      ['run', 100],
      ['run', 200],
    ]);
  });

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

  it('plans a pass that is repeated only for what the last one has noted', async () => {
    const followed = { source: null, destination: null };
    const doubted = { note: 'doubts', first: 0, rechecks: [] };
    assert.equal((await planned({ followed })).isAgain, false);
    assert.equal((await planned({ followed, doubted })).isAgain, true);
  });

  it('records whether a pass has compared everything, and stored all differences', async () => {
    assert.equal((await ended({ completed: 1 }))?.isWhole, true);
    assert.equal((await ended({ failed: 1 }))?.isWhole, true);
    assert.equal((await ended({ failed: 1, disturbed: 1 }))?.isWhole, false);
    assert.equal((await ended({ failed: 1, isOverflowing: true }))?.isWhole, false);
    assert.equal((await ended({ completed: 1 }, { isProven: false }))?.isWhole, false);
  });

  it('counts a task that has failed and stored nothing as a difference', async () => {
    assert.equal((await ended({ failed: 2, disturbed: 2 }))?.mismatches, 2);
  });
});

/** What is counted, answer by answer. */
async function counted(...answers: readonly Partial<TaskCounts>[]): Promise<number> {
  const left = [...answers];
  const counts = async (): Promise<TaskCounts> => {
    const next = left.shift();
    assert.ok(next, 'it is asked no more often');
    return await Promise.resolve({ ...noTasks, ...next });
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
