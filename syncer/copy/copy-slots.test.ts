import assert from 'node:assert/strict';
import fc from 'fast-check';
import { ConcurrencyLimit, exactly } from '../../service/concurrency-limit.ts';
import { CopySlots, type CopySlot } from './copy-slots.ts';

const mebibyte = 1024 * 1024;

/** Lets everything that was resolved continue. */
async function settled(): Promise<void> {
  await new Promise(setImmediate);
}

describe('CopySlots', () => {
  it('never has more under way than the limit and the memory allow, and leaves nobody out', async () => {
    const sizes = fc.record({
      expected: fc.integer({ min: 0, max: 20 }),
      share: fc.double({ min: 0, max: 1, noNaN: true }),
    });
    const plan = fc.record({
      limit: fc.integer({ min: 1, max: 12 }),
      batches: fc.array(sizes, { minLength: 1, maxLength: 60 }),
      seed: fc.infiniteStream(fc.nat({ max: 1_000 })),
      bounds: fc.infiniteStream(fc.constantFrom(1, 2, 4, 8, Infinity)),
    });
    await fc.assert(
      fc.asyncProperty(plan, async ({ limit, batches, seed, bounds }) => {
        let most = Number(bounds.next().value);
        const slots = new CopySlots(new ConcurrencyLimit(exactly(limit)), () => most);
        const held: { readonly slot: CopySlot; readonly mebibytes: number }[] = [];
        const order: number[] = [];
        for (const [index, { expected, share }] of batches.entries())
          void slots.take(expected * mebibyte).then((slot) => {
            order.push(index);
            const others = held.reduce((sum, { mebibytes }) => sum + mebibytes, 0);
            assert.ok(held.length < Math.min(limit, most), `${held.length} under way`);
            assert.ok(
              held.length === 0 || others + expected <= 64,
              `${others} MiB and ${expected} more`,
            );
            const actual = expected * share;
            slot.holds(actual * mebibyte);
            held.push({ slot, mebibytes: actual });
          });
        await settled();
        while (order.length < batches.length || held.length > 0) {
          assert.ok(held.length > 0, `${order.length} of ${batches.length} got a slot`);
          most = Number(bounds.next().value);
          const [next] = held.splice((seed.next().value ?? 0) % held.length, 1);
          next?.slot.giveBack(1);
          // A second time changes nothing.
          next?.slot.giveBack(1);
          await settled();
        }
        assert.deepEqual(
          order,
          batches.map((_, index) => index),
        );
      }),
      { numRuns: 100 },
    );
  });

  it('lets nothing more through while batches are larger than expected', async () => {
    const slots = new CopySlots(new ConcurrencyLimit(exactly(10)));
    const first = await slots.take(mebibyte);
    first.holds(64 * mebibyte);
    let isTaken = false;
    const next = slots.take(mebibyte).then(() => {
      isTaken = true;
    });
    await settled();
    assert.equal(isTaken, false);
    first.giveBack(64 * mebibyte);
    await next;
  });

  it('uses all of the memory, whatever earlier batches were expected to hold', async () => {
    const slots = new CopySlots(new ConcurrencyLimit(exactly(100)));
    for (const actual of [1, 16])
      for (let n = 0; n < 100; n++) {
        const slot = await slots.take(4 * mebibyte);
        slot.holds(actual * mebibyte);
        slot.giveBack(1);
      }
    let taken = 0;
    for (let n = 0; n < 20; n++)
      void slots.take(4 * mebibyte).then(() => {
        taken++;
      });
    await settled();
    assert.equal(taken, 16);
  });

  it('lets a batch through that is larger than all memory, alone', async () => {
    const slots = new CopySlots(new ConcurrencyLimit(exactly(4)));
    const large = await slots.take(200 * mebibyte);
    let isTaken = false;
    const next = slots.take(1).then((slot) => {
      isTaken = true;
      return slot;
    });
    await settled();
    assert.equal(isTaken, false);
    large.holds(mebibyte);
    (await next).giveBack();
    large.giveBack();
  });

  for (const { what, copied, isRaised, readers = 64 } of [
    { what: 'that are faster together', copied: () => mebibyte, isRaised: true },
    { what: 'that are small and faster together', copied: () => 0, isRaised: true },
    { what: 'that move no more together', copied: (share: number) => share, isRaised: false },
    { what: 'that fail', copied: () => undefined, isRaised: false },
    { what: 'that few readers have', copied: () => mebibyte, isRaised: false, readers: 3 },
  ])
    it(`${isRaised ? 'lets' : 'does not let'} the number under way rise for batches ${what}`, async () => {
      let nowMs = 0;
      const limit = new ConcurrencyLimit({ min: 6, initial: 6, max: 64 }, () => nowMs);
      const slots = new CopySlots(limit);
      const held: CopySlot[] = [];
      const read = async (): Promise<void> => {
        held.push(await slots.take(mebibyte));
      };
      for (let reader = 0; reader < readers; reader++) void read();
      await settled();
      let most = 0;
      for (let round = 0; round < 500; round++) {
        // A round trip, in which all that are under way end.
        nowMs += 100;
        const ended = held.splice(0);
        for (const slot of ended) {
          slot.giveBack(copied((64 * mebibyte) / ended.length));
          void read();
        }
        await settled();
        most = Math.max(most, limit.current);
      }
      // A probe is one step.
      if (isRaised) assert.ok(most > 30, `${most}`);
      else assert.ok(most <= 9, `${most}`);
    });
});
