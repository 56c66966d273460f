import assert from 'node:assert/strict';
import { Lease, LeaseLost } from './lease.ts';

type LeaseStore = ConstructorParameters<typeof Lease>[0];

describe('Lease', () => {
  /** A store where others may hold the lease, and the clocks of the process: one stops while the machine does. */
  function ground() {
    const world = { running: 0, wall: 1_000_000, isFree: true, asked: 0 };
    /** For how long it was asked for, each time. */
    const durations: number[] = [];
    const grant = (leaseMs: number): Promise<boolean> => {
      world.asked++;
      durations.push(leaseMs);
      return Promise.resolve(world.isFree);
    };
    const store: LeaseStore = {
      take: async (leaseMs, mayBeFirst) => (await grant(leaseMs)) && mayBeFirst,
      renew: grant,
    };
    const pass = (ms: number): void => {
      world.running += ms;
      world.wall += ms;
    };
    const leaseOf = (isPreferred: boolean, its = store): Lease =>
      new Lease(its, isPreferred, () => [world.running, world.wall]);
    return { world, durations, pass, leaseOf };
  }

  it('is taken at once by the preferred instance, by others after a while', async () => {
    const { pass, leaseOf } = ground();
    const [preferred, other] = [leaseOf(true), leaseOf(false)];
    await preferred.keep();
    await other.keep();
    assert.deepEqual([preferred.isHeld, other.isHeld], [true, false]);
    pass(2_000);
    await other.keep();
    assert.equal(other.isHeld, true);
  });

  it('is relied on for less time than it lasts, by either clock', async () => {
    const { world, pass, leaseOf } = ground();
    const lease = leaseOf(true);
    await lease.keep();
    pass(8_999);
    lease.require();
    pass(1);
    assert.throws(() => {
      lease.require();
    }, LeaseLost);
    await lease.keep();
    lease.require();
    world.wall += 9_000;
    assert.equal(lease.isHeld, false);
  });

  it('lasts three seconds longer than it is relied on, whether taken or renewed', async () => {
    const { durations, pass, leaseOf } = ground();
    const lease = leaseOf(true);
    await lease.keep();
    pass(3_000);
    await lease.keep();
    let reliedOnMs = 0;
    for (; lease.isHeld && reliedOnMs < 60_000; reliedOnMs += 1_000) pass(1_000);
    assert.equal(durations.length, 2);
    for (const leaseMs of durations) assert.ok(leaseMs >= reliedOnMs + 3_000, `${leaseMs} ms`);
  });

  it('counts from when it was asked for, not from the answer', async () => {
    const { world, pass } = ground();
    const store: LeaseStore = {
      take: () => {
        pass(9_000);
        return Promise.resolve(true);
      },
      renew: () => Promise.resolve(true),
    };
    const lease = new Lease(store, true, () => [world.running, world.wall]);
    await lease.keep();
    assert.equal(lease.isHeld, false);
  });

  it('has another term when it was lost and taken again, and the same one when it was renewed', async () => {
    const { world, pass, leaseOf } = ground();
    const lease = leaseOf(true);
    await lease.keep();
    const { term } = lease;
    pass(3_000);
    await lease.keep();
    assert.equal(lease.term, term);
    world.isFree = false;
    pass(3_000);
    await lease.keep();
    assert.equal(lease.term, undefined);
    world.isFree = true;
    pass(3_000);
    await lease.keep();
    assert.notEqual(lease.term, term);
    assert.equal(lease.isHeld, true);
  });

  it('is not taken again while work under an earlier lease is under way', async () => {
    const { world, pass, leaseOf } = ground();
    const lease = leaseOf(true);
    await lease.keep();
    pass(3_000);
    await lease.keep({ mayTake: false });
    assert.equal(lease.isHeld, true);
    world.isFree = false;
    pass(3_000);
    await lease.keep({ mayTake: false });
    world.isFree = true;
    pass(3_000);
    await lease.keep({ mayTake: false });
    assert.deepEqual([lease.isHeld, world.asked], [false, 3]);
    await lease.keep();
    assert.equal(lease.isHeld, true);
  });

  it('says when it was granted, not when it was renewed', async () => {
    const { pass, leaseOf } = ground();
    const earliestMs = performance.now();
    const lease = leaseOf(true);
    await lease.keep();
    const { takenAtMs } = lease;
    assert.ok(takenAtMs >= earliestMs && takenAtMs <= performance.now());
    pass(3_000);
    await lease.keep();
    assert.equal(lease.takenAtMs, takenAtMs);
  });

  it('goes by the latest question that is answered, as several may be under way', async () => {
    for (const late of [true, false]) {
      const { pass, leaseOf } = ground();
      const slow = Promise.withResolvers<boolean>();
      let asked = 0;
      const answer = async (): Promise<boolean> => (++asked === 2 ? await slow.promise : true);
      const lease = leaseOf(true, { take: answer, renew: answer });
      await lease.keep();
      const { term } = lease;
      pass(3_000);
      const keeping = lease.keep();
      pass(3_000);
      await lease.keep();
      pass(6_500);
      slow.resolve(late);
      await keeping;
      assert.deepEqual([asked, lease.isHeld, lease.term], [3, true, term]);
    }
  });

  it('begins one term when it was asked for twice, whichever answer comes first', async () => {
    for (const isInOrder of [true, false]) {
      const { pass, leaseOf } = ground();
      const [first, second] = [Promise.withResolvers<boolean>(), Promise.withResolvers<boolean>()];
      let asked = 0;
      const take = async (): Promise<boolean> => await (++asked === 1 ? first : second).promise;
      const lease = leaseOf(true, { take, renew: () => Promise.resolve(true) });
      const keeping = [lease.keep()];
      pass(500);
      keeping.push(lease.keep());
      const terms: unknown[] = [];
      for (const answer of isInOrder ? [first, second] : [second, first]) {
        answer.resolve(true);
        await keeping[answer === first ? 0 : 1];
        terms.push(lease.term);
      }
      assert.deepEqual([asked, ...terms], [2, 1, 1]);
    }
  });

  it('is asked for now and then, however often it is kept', async () => {
    const { world, pass, leaseOf } = ground();
    const lease = leaseOf(true);
    for (let at = 0; at < 9_000; at += 25) {
      await lease.keep();
      pass(25);
    }
    assert.equal(world.asked, 3);
  });
});
