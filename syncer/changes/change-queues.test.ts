import assert from 'node:assert/strict';
import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { Timestamp } from 'mongodb';
import { ChangeQueues, type QueuesOptions } from './change-queues.ts';
import { ConcurrencyLimit, exactly } from '../../service/concurrency-limit.ts';
import type { StreamPosition } from './stream-positions.ts';

interface Change {
  /** Those of the first queue are in order. */
  readonly queue: number;
  readonly document: string;
  readonly number: number;
  readonly batch: number;
}

const queueCount = 3;
const documentCount = 4;
const atATime = 5;
const maxChanges = 4;

/** What was applied, and after which of the changes a batch of the stream was reached. */
interface Record {
  readonly queues: ChangeQueues<number, Change>;
  readonly applied: Change[];
  readonly underWay: Set<Change>;
  readonly reached: { readonly batch: number; readonly appliedBefore: number }[];
  readonly errors: unknown[];
  /** The most at the same time. */
  mostBatches: number;
  mostBatchesOfOne: number;
  mostChanges: number;
  opened: number;
  /** How often it was asked of which document a change is. */
  looks: number;
}

/** Queues whose batches take the numbers of turns in `turns`, in rotation, to apply; changes in `failing` are refused. */
function recording(
  turns: readonly number[],
  {
    failing = [],
    bytes = 10,
    ...bounds
  }: {
    readonly failing?: readonly number[];
    readonly bytes?: number;
  } & Pick<QueuesOptions<number, Change>, 'most'> = {},
): Record {
  let next = 0;
  let batches = 0;
  const batchesOf = new Map<number, number>();
  const queues = new ChangeQueues<number, Change>({
    limit: new ConcurrencyLimit(exactly(atATime)),
    ...bounds,
    minChanges: 2,
    maxChanges,
    minBytes: 10,
    maxBytesOfAll: atATime * 30,
    bytesOf: () => bytes,
    documentOf: ({ document }) => {
      record.looks++;
      return document;
    },
    isInOrder: (queue) => queue === 0,
    apply: async (queue, changes) => {
      assert.ok(changes.length > 0);
      for (const change of changes) {
        assert.equal(change.queue, queue);
        const others = [...record.underWay].filter((other) => other.queue === queue);
        assert.ok(queue !== 0 || others.length === 0, 'two batches of a queue in order');
        assert.ok(others.every(({ document }) => document !== change.document));
      }
      for (const change of changes) record.underWay.add(change);
      batches++;
      batchesOf.set(queue, (batchesOf.get(queue) ?? 0) + 1);
      record.mostBatches = Math.max(record.mostBatches, batches);
      record.mostBatchesOfOne = Math.max(record.mostBatchesOfOne, batchesOf.get(queue) ?? 0);
      record.mostChanges = Math.max(record.mostChanges, changes.length);
      for (let turn = turns[next++ % turns.length] ?? 0; turn > 0; turn--) await setImmediate();
      const refused = changes.find(({ number }) => failing.includes(number));
      if (refused) throw new Error(`refused: ${refused.number}`);
      for (const change of changes) record.underWay.delete(change);
      record.applied.push(...changes);
      batches--;
      batchesOf.set(queue, (batchesOf.get(queue) ?? 0) - 1);
    },
    reached: ({ time }) => {
      record.reached.push({ batch: time.t, appliedBefore: record.applied.length });
    },
    failed: (error) => {
      record.errors.push(error);
    },
  });
  const record: Record = {
    queues,
    applied: [],
    underWay: new Set(),
    reached: [],
    errors: [],
    mostBatches: 0,
    mostBatchesOfOne: 0,
    mostChanges: 0,
    opened: 0,
    looks: 0,
  };
  return record;
}

type Target = readonly [queue: number, document: number];

/** Batches of the stream as lists of targets. */
const batches = fc.array(
  fc.array(fc.tuple(fc.nat(queueCount - 1), fc.nat(documentCount - 1)), { maxLength: 12 }),
  { maxLength: 12 },
);

const positionOf = (batch: number): StreamPosition => ({
  token: new Uint8Array(),
  time: new Timestamp({ t: batch, i: 0 }),
});

async function addAll(
  record: Record,
  lists: readonly (readonly Target[])[],
  afterBatch: (batch: number) => Promise<void> = async (batch) => {
    // What ends in this very turn must not be forgotten, either.
    await (batch % 3 === 0 ? setImmediate() : Promise.resolve());
  },
): Promise<Change[]> {
  const { queues } = record;
  const added: Change[] = [];
  for (const [batch, list] of lists.entries()) {
    record.opened++;
    const position = queues.open(positionOf(batch), { events: list.length + 1, bytes: 100 });
    for (const [queue, document] of list) {
      const change = { queue, document: `d${document}`, batch, number: added.length };
      added.push(change);
      queues.add(queue, change, position);
    }
    queues.skip(position, 1);
    queues.start();
    await afterBatch(batch);
  }
  return added;
}

function numbersBy(
  changes: readonly Change[],
  nameOf: (change: Change) => string,
): Map<string, number[]> {
  const groups = Map.groupBy(changes, nameOf);
  return new Map(
    [...groups]
      .map(([name, list]) => [name, list.map(({ number }) => number)] as const)
      .toSorted(([left], [right]) => (left < right ? -1 : 1)),
  );
}

/** What must be in order: a document, or the whole queue. */
function orderedAs({ queue, document }: Change): string {
  return queue === 0 ? 'in order' : `${queue} ${document}`;
}

describe('ChangeQueues', () => {
  const turns = fc.array(fc.nat(4), { minLength: 1, maxLength: 5 });

  it('keeps the order of each document, and reports a batch when all up to its end is applied', async () => {
    await fc.assert(
      fc.asyncProperty(batches, turns, async (lists, pauses) => {
        const record = recording(pauses);
        const added = await addAll(record, lists);
        await record.queues.drain();
        assert.deepEqual(numbersBy(record.applied, orderedAs), numbersBy(added, orderedAs));
        for (const { batch, appliedBefore } of record.reached) {
          const before = new Set(record.applied.slice(0, appliedBefore));
          assert.ok(added.every((change) => change.batch > batch || before.has(change)));
        }
        assert.deepEqual(
          record.reached.map(({ batch }) => batch),
          lists.map((_, batch) => batch),
        );
        assert.ok(record.mostBatches <= atATime);
        assert.ok(record.mostChanges <= 3, 'no more than 30 bytes');
        await record.queues.roomBelow(1);
      }),
      { numRuns: 200 },
    );
  });

  it('has applied everything before a barrier', async () => {
    await fc.assert(
      fc.asyncProperty(batches, turns, async (lists, pauses) => {
        const record = recording(pauses);
        let count = 0;
        await addAll(record, lists, async (batch) => {
          count += lists[batch]?.length ?? 0;
          await record.queues.drain();
          assert.equal(record.applied.length, count);
        });
      }),
      { numRuns: 50 },
    );
  });

  it('applies many batches at the same time: of one queue, and of several', async () => {
    const distinct = (queueOf: (n: number) => number): Target[] =>
      Array.from({ length: 40 }, (_, n) => [queueOf(n), n]);
    const one = recording([3]);
    await addAll(one, [distinct(() => 1)]);
    await one.queues.drain();
    assert.equal(one.mostBatchesOfOne, atATime);
    const several = recording([3]);
    await addAll(several, [distinct((n) => n % 10)]);
    assert.equal(several.mostBatches, atATime);
    await several.queues.drain();
    assert.equal(several.applied.length, 40);
  });

  it('has no more batches under way, nor changes in one, than it may, whatever the limit', async () => {
    const list = Array.from({ length: 40 }, (_, n): Target => [1, n]);
    for (const [bounds, expected] of [
      [{}, [atATime, maxChanges]],
      [{ most: () => ({ batches: 2, changes: 3 }) }, [2, 3]],
    ] as const) {
      const record = recording([3], { bytes: 0, ...bounds });
      await addAll(record, [list]);
      await record.queues.drain();
      assert.equal(record.applied.length, list.length);
      assert.deepEqual([record.mostBatches, record.mostChanges], expected);
    }
  });

  it('passes over the changes of a document that is under way, and no others', async () => {
    const record = recording([50, ...new Array<number>(20).fill(1)]);
    const hot: Target[] = Array.from({ length: 10 }, () => [1, 0]);
    const others: Target[] = Array.from({ length: 5 }, (_, n) => [1, n + 1]);
    await addAll(record, [[[1, 0]], [...hot, ...others]]);
    while (record.applied.length < others.length) await setImmediate();
    assert.deepEqual(
      record.applied.map(({ document }) => document),
      others.map(([, n]) => `d${n}`),
      'before the first one has ended',
    );
    await record.queues.drain();
    assert.equal(record.applied.length, 16);
  });

  it('looks at each change of a long queue once while its document is under way', async () => {
    const record = recording([500, ...new Array<number>(200).fill(1)]);
    const hot: Target[] = Array.from({ length: 400 }, () => [1, 0]);
    const others: Target[] = Array.from({ length: 100 }, (_, n) => [1, n + 1]);
    await addAll(record, [[[1, 0]], [...hot, ...others]]);
    while (record.applied.length < others.length) await setImmediate();
    assert.deepEqual(
      record.applied.map(({ document }) => document),
      others.map(([, n]) => `d${n}`),
      'before the first one has ended',
    );
    // The others are looked at once more when they are applied.
    assert.equal(record.looks, 1 + hot.length + 2 * others.length + 1);
    await record.queues.drain();
    assert.equal(record.applied.length, 1 + hot.length + others.length);
  });

  it('gives documents that are written all the time their turns by the age of their changes', async () => {
    const record = recording([1]);
    // In turn, and as many as two batches take: they fill them evenly.
    const hot = 6;
    const list: Target[] = Array.from({ length: 50 * hot }, (_, n) => [1, n % hot]);
    await addAll(record, [list]);
    await record.queues.drain();
    const ages = record.applied.map(({ number }) => number);
    const late = ages.map((number, place) => Math.abs(number - place));
    assert.ok(Math.max(...late) <= atATime * maxChanges, `${Math.max(...late)} places`);
  });

  it('waits for room', async () => {
    const record = recording([3]);
    const list: Target[] = [
      [0, 0],
      [1, 0],
    ];
    await addAll(
      record,
      Array.from({ length: 20 }, () => list),
      async () => {
        await record.queues.roomBelow(300);
        assert.ok(record.opened - record.reached.length < 3);
      },
    );
    await record.queues.drain();
  });

  it('stops for good at the first error, and gives it to those who wait', async () => {
    const record = recording([1], { failing: [5] });
    const list: Target[] = [
      [0, 0],
      [1, 0],
      [2, 0],
    ];
    await addAll(
      record,
      Array.from({ length: 10 }, () => list),
    );
    await assert.rejects(record.queues.drain(), /refused/);
    await assert.rejects(record.queues.roomBelow(1), /refused/);
    await record.queues.stop();
    assert.equal(record.errors.length, 1);
    assert.ok(record.reached.every(({ batch }) => batch < 1));
    const { length } = record.applied;
    await setImmediate();
    assert.equal(record.applied.length, length);
  });

  it('ends what waits when the only batch fails', async () => {
    const record = recording([1], { failing: [0] });
    await addAll(record, [[[1, 0]]]);
    await assert.rejects(record.queues.drain(), /refused/);
    await record.queues.stop();
    assert.equal(record.errors.length, 1);
  });

  it('reports the first error alone when batches fail that were under way', async () => {
    const record = recording([1, 2, 3], { failing: [0, 1, 2] });
    await addAll(record, [
      [
        [0, 0],
        [1, 0],
        [2, 0],
      ],
    ]);
    await record.queues.stop();
    assert.deepEqual(record.errors.map(String), ['Error: refused: 0']);
    await assert.rejects(record.queues.drain(), /refused: 0/);
  });

  it('starts nothing more when it is told to stop, and waits for what is under way', async () => {
    const record = recording([3]);
    const hot: Target[] = Array.from({ length: 6 }, () => [0, 0]);
    await addAll(record, [hot]);
    await record.queues.stop();
    assert.equal(record.underWay.size, 0);
    assert.equal(record.applied.length, 3, 'one batch of 30 bytes');
    for (let turn = 0; turn < 10; turn++) await setImmediate();
    assert.equal(record.applied.length, 3);
  });

  it('takes more at a time, the more there is to do', async () => {
    const sizes: number[] = [];
    for (const count of [3, 10, 30, 1_000]) {
      const record = recording([1], { bytes: 0 });
      const list = Array.from({ length: count }, (_, n): Target => [1, n]);
      await addAll(record, [list]);
      await record.queues.drain();
      assert.equal(record.applied.length, count);
      sizes.push(record.mostChanges);
    }
    // Two batches for each of five: at least two changes each, and four at most.
    assert.deepEqual(sizes, [2, 2, 3, 4]);
  });

  for (const [when, isFirst] of Object.entries({ before: true, after: false }))
    it(`takes the queues in turn, with one that has the most to do ${when} others`, async () => {
      const record = recording([2, ...new Array<number>(50).fill(1)]);
      const long = Array.from({ length: 100 }, (_, n): Target => [1, n]);
      // All but the first of one of them are passed over at first.
      const others = [...Array.from({ length: 4 }, (): Target => [0, 0]), [2, 0] as const];
      await addAll(record, [isFirst ? [...long, ...others] : [...others, ...long]]);
      await record.queues.drain();
      const placeOf = (queue: number): number =>
        record.applied.findIndex((one) => one.queue === queue);
      assert.ok(placeOf(0) < 50);
      assert.ok(placeOf(2) < 50);
      assert.equal(record.applied.length, 105);
    });

  it('lets the number under way rise while more yields more, with a reader that is bounded', async () => {
    let now = 0;
    const limit = new ConcurrencyLimit({ min: 4, initial: 16, max: 64 }, () => now);
    const ends: { readonly at: number; readonly end: () => void }[] = [];
    let applied = 0;
    const queues = new ChangeQueues<number, number>({
      limit,
      ...{ minChanges: 10, maxChanges: 100, minBytes: 100, maxBytesOfAll: 16_000 },
      bytesOf: () => 10,
      documentOf: String,
      isInOrder: () => false,
      // Each change takes its time, and any number of batches are worked on side by side.
      apply: async (_, changes) => {
        await new Promise<void>((end) => ends.push({ at: now + 5 + 2 * changes.length, end }));
        applied += changes.length;
      },
      reached: () => undefined,
      failed: (error) => {
        throw error;
      },
    });
    for (let batch = 0; batch < 4_000; batch++) {
      const position = queues.open(positionOf(batch), { events: 100, bytes: 1_000 });
      for (let n = 0; n < 100; n++) queues.add(1, batch * 100 + n, position);
      queues.start();
      const room = queues.roomBelow(32_000).then(() => true);
      while (!(await Promise.race([room, setImmediate(false)]))) {
        ends.sort((left, right) => left.at - right.at);
        const next = ends.shift();
        assert.ok(next);
        now = Math.max(now, next.at);
        next.end();
      }
    }
    assert.ok(limit.current > 30, `${limit.current} at a time after ${applied}`);
    const stopped = queues.stop();
    for (const { end } of ends) end();
    await stopped;
  });
});
