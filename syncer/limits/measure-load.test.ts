import assert from 'node:assert/strict';
import { checkedAnswer } from '../../mongo/checked-value.ts';
import { playedAdmin } from '../../mongo/testing/played-deployment.ts';
import type { HoldBack } from '../options/hold-back.ts';
import { measureLoad, replicationLagIn, type MeasuredSide } from './measure-load.ts';

const none = new Date(0);
const at = (seconds: number): Date => new Date(1_700_000_000_000 + seconds * 1_000);

/** Answers of a primary whose latest write is at 100 s. */
function lagOf(...others: readonly object[]): ReturnType<typeof replicationLagIn> {
  const primary = { name: 'a:1', state: 1, stateStr: 'PRIMARY', optimeDate: at(100) };
  const status = { members: [primary, ...others] };
  const hello = { hosts: ['a:1', 'b:1', 'c:1'], passives: ['d:1'], arbiters: ['e:1'] };
  return replicationLagIn(
    checkedAnswer(status, { replSetGetStatus: 1 }, 'a:1'),
    checkedAnswer(hello, { hello: 1 }, 'a:1'),
  );
}

function member(name: string, optimeDate: Date, more: object = {}): object {
  return { name, state: 2, stateStr: 'SECONDARY', optimeDate, ...more };
}

describe('replicationLagIn', () => {
  it('is that of the secondary that is furthest behind', () => {
    assert.deepEqual(lagOf(), { value: 0, problem: undefined });
    assert.equal(lagOf(member('b:1', at(97)), member('c:1', at(60))).value, 40);
    assert.equal(lagOf(member('d:1', at(95))).value, 5);
    assert.equal(lagOf(member('b:1', at(101))).value, 0);
  });

  it('does not count members that hello does not list, nor arbiters', () => {
    const arbiter = { name: 'e:1', state: 7, stateStr: 'ARBITER' };
    assert.deepEqual(lagOf(member('hidden:1', at(0)), arbiter), { value: 0, problem: undefined });
  });

  it('counts one that is down since it was last heard of, and names one that never was', () => {
    const down = { state: 8, stateStr: '(not reachable/healthy)' };
    const heard = member('b:1', none, { ...down, lastHeartbeatRecv: at(70) });
    assert.deepEqual(lagOf(heard), { value: 30, problem: undefined });
    const never = member('c:1', none, { ...down, lastHeartbeatRecv: none });
    assert.deepEqual(lagOf(heard, never), {
      value: 30,
      problem: 'nothing is known of c:1 ((not reachable/healthy))',
    });
  });

  it('is unknown without a primary', () => {
    const status = { members: [member('b:1', at(0))] };
    assert.throws(
      () =>
        replicationLagIn(
          checkedAnswer(status, { replSetGetStatus: 1 }, 'b:1'),
          checkedAnswer({ hosts: ['b:1'] }, { hello: 1 }, 'b:1'),
        ),
      /no member is primary/,
    );
  });
});

describe('a measurement', () => {
  const answers: Readonly<Record<string, object>> = {
    dbStats: {
      raw: {
        a: { fsTotalSize: 100, fsUsedSize: 10 },
        b: { fsTotalSize: 100, fsUsedSize: 95 },
      },
    },
    serverStatus: {
      globalLock: { currentQueue: { total: 7, readers: 3, writers: 4 } },
      wiredTiger: {
        cache: { 'tracked dirty bytes in the cache': 1, 'maximum bytes configured': 4 },
      },
    },
  };

  /** What is measured on a destination for a limit. */
  async function measured(kind: MeasuredSide['kind'], limit: keyof HoldBack): Promise<unknown> {
    const admin = playedAdmin((command) => {
      const [name = ''] = Object.keys(command);
      return { ok: 1, ...answers[name] };
    });
    const side = { cluster: { admin }, kind };
    const sides = { source: side, destination: side };
    const readings = await measureLoad({ [limit]: 10 }, sides, new AbortController().signal);
    return readings.map(({ value, problem }) => ({ value, problem }));
  }

  const hidden = 'routers do not show the members of shards';
  for (const [kind, limit, value, problem] of [
    ['sharded', 'minFreeDiskPercent', 5, undefined],
    ['sharded', 'maxQueuedOperations', undefined, hidden],
    ['sharded', 'maxCacheDirtyPercent', undefined, hidden],
    ['replicaSet', 'maxQueuedOperations', 7, undefined],
    ['replicaSet', 'maxCacheDirtyPercent', 25, undefined],
  ] as const)
    it(`for ${limit} on a destination of kind ${kind} is ${value ?? 'unknown'}`, async () => {
      assert.deepEqual(await measured(kind, limit), [{ value, problem }]);
    });
});
