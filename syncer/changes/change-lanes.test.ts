import assert from 'node:assert/strict';
import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { Timestamp } from 'mongodb';
import { ChangeLanes, type StreamPosition } from './change-lanes.ts';

interface Change {
  readonly lane: number;
  readonly number: number;
  readonly batch: number;
}

const laneCount = 3;

/** What lanes did: the changes applied, and after which of them a batch was reached. */
interface Story {
  readonly lanes: ChangeLanes<Change>;
  readonly applied: Change[];
  readonly reached: { readonly batch: number; readonly appliedBefore: number }[];
  readonly errors: unknown[];
  largest: number;
  opened: number;
}

/** Lanes that take the numbers of turns in `turns`, in rotation, to apply; change `failing` is refused. */
function storyOf(turns: readonly number[], failing = -1): Story {
  let next = 0;
  const applied: Change[] = [];
  const reached: Story['reached'] = [];
  const errors: unknown[] = [];
  const lanes = new ChangeLanes<Change>({
    lanes: laneCount,
    maxChanges: 4,
    maxBytes: 30,
    bytesOf: () => 10,
    apply: async (changes) => {
      story.largest = Math.max(story.largest, changes.length);
      for (let turn = turns[next++ % turns.length] ?? 0; turn > 0; turn--) await setImmediate();
      if (changes.some(({ number }) => number === failing)) throw new Error('refused');
      applied.push(...changes);
    },
    reached: ({ time }) => {
      reached.push({ batch: time.t, appliedBefore: applied.length });
    },
    failed: (error) => {
      errors.push(error);
    },
  });
  const story: Story = { lanes, applied, reached, errors, largest: 0, opened: 0 };
  return story;
}

/** Batches as lists of lanes. */
const batches = fc.array(fc.array(fc.nat(laneCount - 1), { maxLength: 12 }), { maxLength: 12 });

const positionOf = (batch: number): StreamPosition => ({
  token: new Uint8Array(),
  time: new Timestamp({ t: batch, i: 0 }),
});

async function addAll(
  story: Story,
  lists: readonly (readonly number[])[],
  afterBatch: (batch: number) => Promise<void> = async (batch) => {
    // Lanes that end in this very turn must be started again, too.
    await (batch % 3 === 0 ? setImmediate() : Promise.resolve());
  },
): Promise<Change[]> {
  const { lanes } = story;
  const added: Change[] = [];
  for (const [batch, list] of lists.entries()) {
    story.opened++;
    const position = lanes.open(positionOf(batch), { events: list.length + 1, bytes: 100 });
    for (const lane of list) {
      const change = { lane, batch, number: added.length };
      added.push(change);
      lanes.add(lane, change, position);
    }
    lanes.pass(position);
    lanes.start();
    await afterBatch(batch);
  }
  return added;
}

describe('ChangeLanes', () => {
  const turns = fc.array(fc.nat(4), { minLength: 1, maxLength: 5 });

  it('keeps the order of each lane, and reports a batch when all up to its end is applied', async () => {
    await fc.assert(
      fc.asyncProperty(batches, turns, async (lists, pauses) => {
        const story = storyOf(pauses);
        const added = await addAll(story, lists);
        await story.lanes.drain();
        for (let lane = 0; lane < laneCount; lane++) {
          const ofLane = (changes: readonly Change[]): number[] =>
            changes.filter((change) => change.lane === lane).map(({ number }) => number);
          assert.deepEqual(ofLane(story.applied), ofLane(added));
        }
        for (const { batch, appliedBefore } of story.reached) {
          const before = new Set(story.applied.slice(0, appliedBefore));
          assert.ok(added.every((change) => change.batch > batch || before.has(change)));
        }
        assert.deepEqual(
          story.reached.map(({ batch }) => batch),
          story.reached.map(({ batch }) => batch).toSorted((left, right) => left - right),
        );
        assert.equal(
          story.reached.at(-1)?.batch,
          lists.length === 0 ? undefined : lists.length - 1,
        );
        assert.ok(story.largest <= 3);
        await story.lanes.roomBelow(1);
      }),
      { numRuns: 100 },
    );
  });

  it('has applied everything before a barrier', async () => {
    await fc.assert(
      fc.asyncProperty(batches, turns, async (lists, pauses) => {
        const story = storyOf(pauses);
        let count = 0;
        await addAll(story, lists, async (batch) => {
          count += lists[batch]?.length ?? 0;
          await story.lanes.drain();
          assert.equal(story.applied.length, count);
        });
      }),
      { numRuns: 50 },
    );
  });

  it('waits for room', async () => {
    const story = storyOf([3]);
    await addAll(
      story,
      Array.from({ length: 20 }, () => [0, 1]),
      async () => {
        await story.lanes.roomBelow(300);
        assert.ok(story.opened - story.reached.length < 3);
      },
    );
    await story.lanes.drain();
  });

  it('stops for good at the first error, and gives it to those who wait', async () => {
    const story = storyOf([1], 5);
    const lists = Array.from({ length: 10 }, () => [0, 1, 2]);
    await addAll(story, lists);
    await assert.rejects(story.lanes.drain(), /refused/);
    await assert.rejects(story.lanes.roomBelow(1), /refused/);
    await story.lanes.stop();
    assert.equal(story.errors.length, 1);
    assert.ok(story.reached.every(({ batch }) => batch < 1));
    const { length } = story.applied;
    await setImmediate();
    assert.equal(story.applied.length, length);
  });
});
