import assert from 'node:assert/strict';
import type { InstanceRecord, SyncRecord } from '../store/records.ts';
import { reversibleSync } from '../testing/reversible-sync.ts';
import { Attendance } from './attendance.ts';

const running: SyncRecord = {
  ...{ ...reversibleSync(), phase: 'changes' },
  ...{ instances: ['a', 'b', 'c'], received: [1, 1, 1] },
};

/** An instance that knows the heartbeats of others, by a clock that is an hour behind. */
function ground(sync: SyncRecord) {
  const world = { nowMs: 0, beats: new Map<string, number>() };
  const attendance = new Attendance('a', () => world.nowMs);
  const missing = (): string | undefined => {
    const instances = new Map(
      sync.instances.map((id) => [
        id,
        { heartbeatAt: new Date(world.beats.get(id) ?? 3_600_000) } as InstanceRecord,
      ]),
    );
    return attendance.missing({ sync, instances });
  };
  return { world, missing };
}

describe('Attendance', () => {
  it('misses an instance whose heartbeat has not changed for a while, whatever its clock says', () => {
    const { world, missing } = ground(running);
    assert.equal(missing(), undefined);
    world.nowMs += 29_000;
    world.beats.set('b', 3_629_000);
    assert.equal(missing(), undefined);
    world.nowMs += 1_000;
    assert.equal(missing(), 'c (no heartbeat for 30 seconds)');
    world.beats.set('c', 3_630_000);
    assert.equal(missing(), undefined);
  });

  it('misses one that is paused or has stopped, but not itself', () => {
    const failure = {
      instance: 'c',
      name: 'OplogRolledOver',
      description: 'gone',
      at: new Date(),
    } as const;
    assert.equal(ground({ ...running, paused: ['a'] }).missing(), undefined);
    assert.equal(
      ground({ ...running, paused: ['b'], failure }).missing(),
      'b (paused) and c (stopped: OplogRolledOver)',
    );
  });

  it('misses none before changes are applied, nor once a commit was accepted', () => {
    const paused = ['b'];
    for (const change of [{ phase: 'copy' }, { state: 'COMMITTING' }] as const)
      assert.equal(ground({ ...running, ...change, paused }).missing(), undefined);
  });
});
