import assert from 'node:assert/strict';
import {
  type Brake,
  brakesAfter,
  brakeText,
  gaugesOf,
  type Gauge,
  type Reading,
} from './brakes.ts';

const lag = { limit: 'maxReplicationLagSeconds', side: 'destination' } as const;
const sourceLag = { limit: 'maxReplicationLagSeconds', side: 'source' } as const;
const disk = { limit: 'minFreeDiskPercent', side: 'destination' } as const;
const problem = 'no answer';

function reading(gauge: Gauge, value: number | undefined): Reading {
  return { ...gauge, value, problem: value === undefined ? problem : undefined };
}

/** What holds after each of these values, one after the other. */
function afterEach(bound: number, gauge: Gauge, values: readonly (number | undefined)[]) {
  const holdBack = { [gauge.limit]: bound };
  const other = gaugesOf(holdBack).filter(({ side }) => side !== gauge.side);
  let brakes: readonly Brake[] = [];
  return values.map((value) => {
    const readings = [reading(gauge, value), ...other.map((each) => reading(each, 0))];
    brakes = brakesAfter(holdBack, readings, brakes);
    return brakes.length > 0;
  });
}

describe('brakesAfter', () => {
  it('holds above a limit, until the value is back by a fifth of it', () => {
    assert.deepEqual(afterEach(30, lag, [30, 31, 30, 25, 24, 25, 30, 31]), [
      false,
      true,
      true,
      true,
      false,
      false,
      false,
      true,
    ]);
    assert.deepEqual(afterEach(1, lag, [1, 2, 1, 0]), [false, true, true, false]);
  });

  it('holds below the free space of a disk, until one percent more is free', () => {
    assert.deepEqual(afterEach(10, disk, [10, 9.9, 10.9, 11, 10]), [
      false,
      true,
      true,
      false,
      false,
    ]);
    assert.deepEqual(afterEach(100, disk, [99.99, 100]), [true, false]);
  });

  it('is neither held nor released by a measurement that fails', () => {
    assert.deepEqual(afterEach(30, lag, [undefined, 31, undefined, 24, undefined]), [
      false,
      true,
      true,
      false,
      false,
    ]);
  });

  it('lets nothing pass before the first measurement of each', () => {
    const holdBack = { maxReplicationLagSeconds: 30, minFreeDiskPercent: 10 };
    const pending = (gauge: Gauge, bound: number) => ({ ...gauge, bound, value: undefined });
    const waiting = brakesAfter(holdBack, [], []);
    assert.deepEqual(waiting, [pending(lag, 30), pending(sourceLag, 30), pending(disk, 10)]);
    const readings = [reading(lag, 0), reading(sourceLag, undefined)];
    assert.deepEqual(brakesAfter(holdBack, readings, waiting), [pending(disk, 10)]);
    assert.deepEqual(brakesAfter({}, readings, waiting), []);
  });

  it('takes up another limit with the value that it has', () => {
    const held = brakesAfter({ minFreeDiskPercent: 50 }, [reading(disk, 20)], []);
    assert.equal(held.length, 1);
    assert.deepEqual(brakesAfter({ minFreeDiskPercent: 19 }, [reading(disk, undefined)], held), []);
    assert.deepEqual(brakesAfter({ minFreeDiskPercent: 20 }, [reading(disk, undefined)], held), [
      { ...disk, bound: 20, value: 20 },
    ]);
  });

  it('says of each side alone what it does, whatever is measured', () => {
    const holdBack = {
      ...{ maxReplicationLagSeconds: 50, maxQueuedOperations: 50 },
      ...{ maxCacheDirtyPercent: 50, minFreeDiskPercent: 50 },
    };
    const gauges = gaugesOf(holdBack);
    let seed = 1;
    const next = (below: number): number => {
      seed = (seed * 48_271) % 2_147_483_647;
      return seed % below;
    };
    let brakes: readonly Brake[] = [];
    let [holds, releases] = [0, 0];
    for (let round = 0; round < 1_000; round++) {
      const readings = gauges.map((gauge) =>
        reading(gauge, next(5) === 0 ? undefined : next(1_001) / 10),
      );
      const before = brakes;
      brakes = brakesAfter(holdBack, readings, before);
      assert.deepEqual(brakesAfter(holdBack, readings, brakes), brakes, 'once more');
      for (const { limit, side, value } of readings) {
        const find = (list: readonly Brake[]) =>
          list.find((brake) => brake.limit === limit && brake.side === side);
        const [was, is] = [find(before), find(brakes)];
        const [isBeyond, isWithin] =
          limit === 'minFreeDiskPercent'
            ? [(value ?? 50) < 50, (value ?? 50) >= 51]
            : [(value ?? 50) > 50, (value ?? 50) <= 40];
        if (isBeyond) assert.equal(is?.value, value);
        else if (isWithin) assert.equal(is, undefined);
        else assert.equal(is !== undefined, was !== undefined);
        if (is && !was) holds++;
        if (was && !is) releases++;
      }
    }
    assert.ok(holds > 100 && releases > 100);
  });
});

describe('brakeText', () => {
  it('says what was measured, the limit, and until when it holds', () => {
    const textOf = (gauge: Gauge, value: number | undefined, bound: number): string =>
      brakeText({ ...gauge, value, bound });
    assert.equal(textOf(lag, 45, 30), 'replication lag of the destination 45 s, limit 30 s');
    assert.equal(
      textOf(sourceLag, 28, 30),
      'replication lag of the source 28 s, limit 30 s, held until 24 s',
    );
    assert.equal(
      textOf({ limit: 'maxQueuedOperations', side: 'destination' }, 3, 3),
      'queued operations of the destination 3, limit 3, held until 2',
    );
    assert.equal(
      textOf({ limit: 'maxCacheDirtyPercent', side: 'destination' }, 20.04, 15),
      'dirty cache of the destination 20 %, limit 15 %',
    );
    assert.equal(
      textOf(disk, 10.21, 10),
      'free disk of the destination 10.2 %, limit 10 %, held until 11 %',
    );
    assert.equal(
      textOf(disk, undefined, 10),
      'holdBack.minFreeDiskPercent: the destination is not measured yet',
    );
  });
});
