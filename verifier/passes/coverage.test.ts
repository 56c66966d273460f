import assert from 'node:assert/strict';
import fc from 'fast-check';
import { Binary, BSON, Timestamp } from 'mongodb';
import { RetryWarnings } from '../../mongo/retry-warnings.ts';
import { createLogger } from '../../service/logger.ts';
import type { RangeTask } from '../store/records.ts';
import type { TaskStore } from '../store/task-store.ts';
import { coverageByNamespace, coverageOf, readCoverage } from './coverage.ts';

const items = { db: 'shop', coll: 'items' };

function bound(_id: number): Binary {
  return new Binary(BSON.serialize({ _id }));
}

const whole: RangeTask = {
  key: 'whole',
  namespace: items,
  work: { kind: 'collection' },
  state: 'completed',
  claim: 'mine',
  read: { source: 7, destination: 6, hashed: 5 },
  parts: null,
  part: null,
};

/** A collection that was split, and its parts. */
function split(count: number): RangeTask[] {
  const parts = Array.from({ length: count }, (_, index): RangeTask => ({
    ...whole,
    key: `part ${index}`,
    work: {
      kind: 'range',
      min: index === 0 ? null : bound(index),
      max: index === count - 1 ? null : bound(index + 1),
    },
    state: index % 2 === 0 ? 'completed' : 'failed',
    claim: 'other',
    read: { source: 10, destination: index, hashed: 3 },
    part: { parent: 'whole', claim: 'mine', index },
  }));
  return [{ ...whole, read: null, parts: count }, ...parts];
}

function reasonOf(tasks: readonly RangeTask[]): string {
  const coverage = coverageOf(items, tasks);
  return coverage.kind === 'incomplete' ? coverage.reason : coverage.kind;
}

describe('coverageOf', () => {
  it('takes a collection that was compared as one', () => {
    assert.deepEqual(coverageOf(items, [whole]), {
      kind: 'covered',
      namespace: items,
      ranges: 1,
      read: { source: 7, destination: 6, hashed: 5 },
    });
  });

  it('adds up the parts of a collection that was split, in any order', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 2, max: 40 }).chain((count) => {
          const tasks = split(count);
          return fc.shuffledSubarray(tasks, { minLength: tasks.length });
        }),
        (tasks) => {
          const count = tasks.length - 1;
          const destination = (count * (count - 1)) / 2;
          assert.deepEqual(coverageOf(items, tasks), {
            kind: 'covered',
            namespace: items,
            ranges: count,
            read: { source: 10 * count, destination, hashed: 3 * count },
          });
        },
      ),
    );
  });

  it('never takes a collection with any one task left out for covered', () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 40 }), fc.nat(), (count, seed) => {
        const tasks = split(count);
        const left = tasks.toSpliced(seed % tasks.length, 1);
        assert.equal(coverageOf(items, left).kind, 'incomplete');
      }),
    );
  });

  it('never takes ranges that do not join for covered', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 2, max: 20 }),
        fc.nat(),
        fc.constantFrom('min' as const, 'max' as const),
        fc.constantFrom(null, bound(1000), bound(-1)),
        (count, seed, side, other) => {
          const tasks = split(count);
          const index = 1 + (seed % count);
          const task = tasks[index];
          if (task?.work.kind !== 'range') throw new Error('the tests split in ranges');
          fc.pre(task.work[side] !== other);
          const moved: RangeTask = { ...task, work: { ...task.work, [side]: other } };
          assert.match(reasonOf(tasks.with(index, moved)), /are not contiguous/);
        },
      ),
    );
  });

  const [parent, first, second, ...others] = split(4);
  const [last] = others.slice(-1);
  if (!parent || !first || !second || !last) throw new Error('the tests split in ranges');
  const cases: readonly (readonly [string, readonly RangeTask[], RegExp])[] = [
    ['a task that has not ended', [{ ...whole, state: 'processing' }], /is processing/],
    ['a task that was given up', [{ ...whole, read: null }], /^unread$/],
    ['a split into nothing', [{ ...whole, read: null, parts: 0 }], /split into no ranges/],
    ['ranges alone', [first, second, ...others], /4 ranges, but not the task/],
    [
      'a range that has not ended',
      [parent, { ...first, state: 'added' }, second, ...others],
      /1 of its 4 ranges have not ended/,
    ],
    [
      'a range that was given up',
      [parent, first, { ...second, read: null }, ...others],
      /^unread$/,
    ],
    [
      'a range of another claim in the place of one',
      [parent, { ...first, part: { parent: 'whole', claim: 'dead', index: 0 } }, second, ...others],
      /3 of its 4 ranges/,
    ],
    [
      'a range of another task in the place of one',
      [parent, { ...first, part: { parent: 'x', claim: 'mine', index: 0 } }, second, ...others],
      /3 of its 4 ranges/,
    ],
    [
      'a range more than it was split into',
      [
        parent,
        first,
        second,
        ...others,
        { ...last, part: { parent: 'whole', claim: 'mine', index: 4 } },
      ],
      /5 of its 4 ranges/,
    ],
    [
      'a task that was given up, beside one that has not ended',
      [
        { ...whole, state: 'processing' },
        { ...whole, key: 'again', read: null },
      ],
      /^unread$/,
    ],
    [
      'a range twice in the place of another',
      [parent, first, first, ...others],
      /are not contiguous/,
    ],
  ];
  for (const [what, tasks, expected] of cases) {
    it(`says what is wrong with ${what}`, () => {
      assert.match(reasonOf(tasks), expected);
    });
  }

  it('is not disturbed by ranges of a process that was taken for dead', () => {
    const dead = split(3)
      .slice(1)
      .map((each): RangeTask => ({ ...each, part: { parent: 'whole', claim: 'dead', index: 0 } }));
    const coverage = coverageOf(items, [...split(4), ...dead]);
    assert.equal(coverage.kind === 'covered' && coverage.ranges, 4);
  });
});

describe('coverageByNamespace', () => {
  it('brings the tasks of each namespace together', async () => {
    const other = { db: 'shop', coll: 'other' };
    const tasks = [...split(3), { ...whole, namespace: other }];
    const found: string[] = [];
    const given = (async function* () {
      for (const task of tasks) yield await Promise.resolve(task);
    })();
    for await (const { namespace, kind } of coverageByNamespace(given)) {
      found.push(`${namespace.coll} ${kind}`);
    }
    assert.deepEqual(found, ['items covered', 'other covered']);
  });
});

describe('readCoverage', () => {
  /** What is wrong with a pass of three tasks. @param former - how many rechecks it had noted when it was read before. */
  async function problems(former: number | null, planned = 3): Promise<readonly string[]> {
    const tasks = {
      plannedCount: () => Promise.resolve(3),
      notedCount: () => Promise.resolve(2),
      rangeTasks: async function* () {
        yield await Promise.resolve(whole);
      },
    } as unknown as TaskStore;
    const context = {
      ...{ signal: new AbortController().signal, logger: createLogger('test', 'fatal') },
      monitor: { retryWarnings: new RetryWarnings(), addRetry: () => undefined },
      stores: { tasks },
    };
    const time = new Timestamp({ t: 1, i: 1 });
    const found = await readCoverage(context, 'run', {
      ...{ number: 4, epoch: 1, kind: 'recheck', isAgain: false, startedAt: new Date() },
      ...{ readAfter: { source: time, destination: time }, comparedUpTo: null },
      ...{ plannedTasks: planned, noted: former },
    });
    assert.equal(found.noted, 2);
    assert.equal(found.covered.length, 1);
    return found.problems;
  }

  it('finds that rechecks were noted, or are gone, since the same pass was read before', async () => {
    assert.deepEqual(await problems(null), []);
    assert.deepEqual(await problems(2), []);
    for (const former of [0, 1, 3]) {
      const expected = `its tasks have noted 2 rechecks, and there were ${former}`;
      assert.deepEqual(await problems(former), [expected]);
    }
  });

  it('finds that tasks are missing', async () => {
    assert.deepEqual(await problems(null, 4), ['3 of its 4 tasks are on record']);
  });
});
