import assert from 'node:assert/strict';
import type { ClusterSyncSpec, ClusterSyncStatus } from '../api/clustersync.ts';
import { decide } from './decide.ts';
import type { Decision, World } from './decision.ts';
import { isUrgent } from './status.ts';
import {
  answers,
  changed,
  clusterSync,
  decideOn,
  emptyWorld,
  phaseAndReadiness,
  runningWorld,
  shardedWorld,
} from './testing/worlds.ts';

const committedSpec = { state: 'Committed' } as const;

/** The status written for a world, and the decision once it is recorded. */
function twice(
  world: World,
  spec: Partial<ClusterSyncSpec> = committedSpec,
): { readonly former: ClusterSyncStatus; readonly next: Decision } {
  const { status } = decide(clusterSync(spec), world);
  return { former: status, next: decide(clusterSync(spec, status), world) };
}

function replicasIn({ objects }: Decision): number | undefined {
  return objects?.statefulSet.spec?.replicas;
}

describe('the pods of a ClusterSync that is over', () => {
  const world = runningWorld(answers.committed);
  const podTemplate = { spec: { hostAliases: [] } };
  const notAllowed = { syncer: { ...clusterSync().spec.syncer, podTemplate } };
  const rejection = { reason: 'InvalidPodTemplate', message: 'refused', level: 'stalled' } as const;

  it('end where what they should be made of is not allowed any more, or is refused', () => {
    const spec = { ...committedSpec, ...notAllowed };
    const { next } = twice(world, spec);
    assert.equal(next.objects, undefined);
    assert.equal(next.toStop, world.statefulSet);
    assert.equal(twice({ ...world, rejection }).next.toStop, world.statefulSet);
    assert.equal(twice(world).next.toStop, undefined);
  });

  it('stay while it is suspended, and before it is over', () => {
    assert.equal(
      twice(world, { ...committedSpec, ...notAllowed, suspend: true }).next.toStop,
      undefined,
    );
    assert.equal(twice(runningWorld(answers.changes), notAllowed).next.toStop, undefined);
  });
});

describe('the pods of a ClusterSync', () => {
  const { idle, copy, changes, paused, committing, committed } = answers;
  const cases: readonly (readonly [string, World, Partial<ClusterSyncSpec>, number | undefined])[] =
    [
      ['are there before the start', runningWorld(idle), {}, 1],
      ['are there during the copy', runningWorld(copy), {}, 1],
      ['are there while changes are applied', runningWorld(changes), {}, 1],
      ['are there during a pause', runningWorld(paused), { state: 'Paused' }, 1],
      ['are there during the commit', runningWorld(committing), committedSpec, 1],
      ['are none after the commit', runningWorld(committed), committedSpec, 0],
      ['are none after a commit by another hand', runningWorld(committed), {}, 0],
      [
        'are none after a commit, though it is to be paused',
        runningWorld(committed),
        { state: 'Paused' },
        0,
      ],
      [
        'are there as long as the destination may not be written to',
        runningWorld(changed(committed, { canWrite: false })),
        committedSpec,
        1,
      ],
      [
        'watch the oplog where the sync may be reversed',
        runningWorld(committed),
        { ...committedSpec, reversible: true },
        1,
      ],
      [
        'are left alone while suspended',
        runningWorld(committed),
        { ...committedSpec, suspend: true },
        undefined,
      ],
    ];
  for (const [what, world, spec, expected] of cases) {
    it(what, () => {
      assert.equal(replicasIn(twice(world, spec).next), expected);
    });
  }

  it('go only when it is on record that all of them are committed', () => {
    const world = runningWorld(committed);
    assert.equal(replicasIn(decide(clusterSync(committedSpec), world)), 1);
    const all = shardedWorld([committed, committed, committed]);
    const some = shardedWorld([committed, committing, committed]);
    const status = decideOn(some, committedSpec).status;
    assert.equal(replicasIn(decideOn(some, committedSpec, status)), 3);
    const last = decideOn(all, committedSpec, status);
    assert.equal(replicasIn(last), 3);
    assert.equal(replicasIn(decideOn(all, committedSpec, last.status)), 0);
  });

  it('come back for nothing: what they said last is shown, and nobody is asked', () => {
    const { former, next } = twice(runningWorld(committed));
    assert.deepEqual([...next.targets], []);
    for (const world of [
      runningWorld(undefined, { pods: new Map(), observations: new Map() }),
      emptyWorld({ source: { kind: 'missing', description: 'there is no Secret old-uri' } }),
    ]) {
      const later = decide(clusterSync(committedSpec, next.status), world);
      const { status } = later;
      assert.equal(phaseAndReadiness(status), 'Committed: True Committed');
      assert.equal(status.readyInstances, '0/0');
      const { image: _, ...ended } = { ...former.instances?.[0] };
      assert.deepEqual(status.instances, [{ ...ended, ready: false }]);
      assert.deepEqual(
        [status.canWrite, status.lagTimeSeconds, status.totals, status.committedAt],
        [true, 0, former.totals, former.committedAt],
      );
      assert.deepEqual(later.events, []);
      assert.equal(later.isStatusPending, false);
      assert.ok(later.requeueAfterMs >= 600_000, 'nobody is asked for anything');
      assert.deepEqual(decide(clusterSync(committedSpec, status), world).status, status);
    }
  });

  it('are shown to be gone at once: a write that waits would be one of a sync at rest', () => {
    const { former, next } = twice(runningWorld(committed));
    assert.notDeepEqual(next.status, former);
    assert.equal(isUrgent(former, next.status), true);
  });

  it('come back when the status has been lost, and go again', () => {
    const source = { kind: 'ReplicaSet', shards: ['rs'] } as const;
    const world = runningWorld(committed);
    const found = decide(clusterSync(committedSpec, { source }), world);
    assert.equal(replicasIn(found), 1);
    assert.equal(replicasIn(decide(clusterSync(committedSpec, found.status), world)), 0);
  });
});
