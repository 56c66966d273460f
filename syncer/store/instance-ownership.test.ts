import assert from 'node:assert/strict';
import { InstanceOwnership } from './instance-ownership.ts';

describe('InstanceOwnership', () => {
  let clocks = [0, 0];
  let asked = 0;
  /** @param ask - what the store answers. */
  const ownership = (
    ask: () => Promise<void> = async () => {
      await Promise.resolve();
    },
  ): InstanceOwnership => {
    clocks = [1_000, 5_000];
    asked = 0;
    const asking = async (): Promise<void> => {
      asked += 1;
      await one.confirmedBy(ask);
    };
    const one = new InstanceOwnership(asking, () => [...clocks]);
    return one;
  };
  const confirm = async (one: InstanceOwnership): Promise<void> => {
    await one.confirmedBy(async () => {
      await Promise.resolve();
    });
  };
  const refused = { name: 'ClusterUnreachable' };

  it('is not relied on before it is confirmed, nor where that fails', async () => {
    const one = ownership();
    assert.throws(one.require, refused);
    await assert.rejects(one.confirmedBy(async () => await Promise.reject(new Error('another'))));
    assert.throws(one.require, refused);
    await confirm(one);
    one.require();
  });

  for (const clock of [0, 1]) {
    it(`is relied on for 20 seconds, by the ${clock === 0 ? 'first' : 'second'} clock too`, async () => {
      const one = ownership();
      await confirm(one);
      clocks[clock] = (clocks[clock] ?? 0) + 19_999;
      one.require();
      clocks[clock] += 1;
      assert.throws(one.require, refused);
      await confirm(one);
      one.require();
    });
  }

  it('counts from when it was asked for, not from the answer', async () => {
    const one = ownership();
    await one.confirmedBy(async () => {
      clocks = clocks.map((now) => now + 15_000);
      await Promise.resolve();
    });
    clocks = clocks.map((now) => now + 5_000);
    assert.throws(one.require, refused);
  });

  it('is needed for all that is written but the instances, and what ends a sync', () => {
    const one = ownership();
    const own = 'clustersync_internal';
    for (const [db, name, target, isNeeded, isNeededForReset] of [
      ['shop', 'insert', 'instances', true, true],
      ['shop', 'drop', 'collections', true, true],
      [own, 'update', 'collections', true, true],
      [own, 'delete', 'partitions', true, true],
      [own, 'insert', 'views', true, true],
      [own, 'update', 'instances', false, false],
      [own, 'update', 'sync', true, false],
      [own, 'findAndModify', 'sync', true, false],
      [own, 'delete', 'sync', true, false],
      [own, 'drop', 'collections', false, false],
    ] as const) {
      const command = { db, name, target };
      const needed = [one, one.forReset].map((right) => right.isNeededFor(command));
      assert.deepEqual(needed, [isNeeded, isNeededForReset], `${name} of ${db}.${target}`);
    }
  });

  it('is asked for again by a connection that was made since, once for all that wait', async () => {
    const one = ownership();
    await confirm(one);
    await one.confirm(1_000);
    assert.equal(asked, 0);
    clocks = clocks.map((now) => now + 10);
    assert.throws(() => {
      one.require(1_005);
    }, refused);
    await Promise.all([one.confirm(1_005), one.confirm(1_010), one.confirm(1_010)]);
    assert.equal(asked, 1);
    one.require(1_010);
  });

  it('is asked for once more where what is being asked was asked before the connection was made', async () => {
    const answers = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()];
    const one = ownership(async () => {
      await answers[asked - 1]?.promise;
    });
    const first = one.confirm(1_000);
    clocks = clocks.map((now) => now + 10);
    const second = one.confirm(1_010);
    answers[0]?.resolve(undefined);
    await first;
    assert.throws(() => {
      one.require(1_010);
    }, refused);
    answers[1]?.resolve(undefined);
    await second;
    assert.equal(asked, 2);
  });

  it('is refused with what the store says, and where its answers come too late', async () => {
    const other = new Error('another');
    await assert.rejects(
      ownership(async () => {
        await Promise.reject(other);
      }).confirm(0),
      other,
    );
    const late = ownership(async () => {
      clocks = clocks.map((now) => now + 20_000);
      await Promise.resolve();
    });
    await assert.rejects(late.confirm(0), refused);
    assert.equal(asked, 2);
  });
});
