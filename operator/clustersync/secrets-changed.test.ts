import assert from 'node:assert/strict';
import type { ClusterSyncSpec, ClusterSyncStatus } from '../api/clustersync.ts';
import type { StatefulSet } from '../kube/builtin-resources.ts';
import { secretsChangedAnnotation } from '../operand/operand-secrets.ts';
import { nowMs } from '../operand/testing/running-pod.ts';
import { decide } from './decide.ts';
import type { Decision, World } from './decision.ts';
import { answers, clusterSync, emptyWorld, runningWorld } from './testing/worlds.ts';

const now = '2026-01-01T12:00:00Z';
const changed = { source: { kind: 'found', value: 'Y2hhbmdlZA==' } } as const;

/** What the API server has once the objects are applied. */
function madeOf({ objects }: Decision): StatefulSet {
  assert.ok(objects && !objects.arePodsKept);
  const { metadata, ...rest } = objects.statefulSet;
  const made = { apiVersion: 'apps/v1', kind: 'StatefulSet', ...rest };
  return { ...made, metadata: { ...metadata, resourceVersion: '7' } } as StatefulSet;
}

function worldWith(statefulSet: StatefulSet, parts: Partial<World> = {}): World {
  return runningWorld(answers.changes, { statefulSet, ...parts });
}

function told({ events }: Decision): string[] {
  return events.flatMap(({ type, reason, note }) =>
    reason === 'SecretsChanged' ? [`${type}: ${note}`] : [],
  );
}

describe('a ClusterSync whose Secrets change', () => {
  const first = madeOf(decide(clusterSync(), emptyWorld()));

  it('says when its pods got them, and that they do: once', () => {
    assert.equal(first.metadata.annotations?.[secretsChangedAnnotation], undefined);
    const before = decide(clusterSync(), worldWith(first));
    assert.equal(before.status.secretsChangedAt, undefined);
    assert.deepEqual(before.objects?.statefulSet.metadata.resourceVersion, undefined);

    const change = decide(clusterSync({}, before.status), worldWith(first, changed));
    assert.equal(change.status.secretsChangedAt, undefined, 'nothing is applied yet');
    assert.deepEqual(told(change), []);
    const { metadata } = change.objects?.statefulSet ?? {};
    assert.equal(metadata?.annotations?.[secretsChangedAnnotation], now);
    assert.equal(metadata.resourceVersion, '7', 'written over what still has the former hash');

    const made = madeOf(change);
    const later = { ...changed, nowMs: nowMs + 60_000 };
    const after = decide(clusterSync({}, before.status), worldWith(made, later));
    assert.equal(after.status.secretsChangedAt, now);
    assert.deepEqual(told(after), [
      'Normal: the pods are restarted: a connection string, user, password or certificate that they read from Secrets is different',
    ]);
    const { resourceVersion: _, ...expected } = metadata;
    assert.deepEqual(after.objects?.statefulSet, {
      ...change.objects?.statefulSet,
      metadata: expected,
    });

    const again = decide(clusterSync({}, after.status), worldWith(made, later));
    assert.deepEqual(told(again), []);
    assert.equal(again.status.secretsChangedAt, now);
  });

  it('says the time of the next change, too', () => {
    const made = madeOf(decide(clusterSync(), worldWith(first, changed)));
    const laterMs = nowMs + 3_600_000;
    const next = decide(clusterSync(), worldWith(made, { nowMs: laterMs }));
    const { status, events } = decide(
      clusterSync({}, { secretsChangedAt: now, source: { kind: 'ReplicaSet', shards: ['rs'] } }),
      worldWith(madeOf(next), { nowMs: laterMs }),
    );
    assert.equal(status.secretsChangedAt, '2026-01-01T13:00:00Z');
    assert.ok(events.some(({ reason }) => reason === 'SecretsChanged'));
  });

  const missing = { destination: { kind: 'missing', description: 'there is none' } } as const;
  const tls = { secretName: 'orders-tls' };
  const cases: readonly (readonly [string, Partial<World>, Partial<ClusterSyncSpec>])[] = [
    ['a Secret is missing', { ...changed, ...missing }, {}],
    [
      'its pods are kept, since nobody could ask others',
      { ...changed, authority: missing.destination },
      { syncer: { ...clusterSync().spec.syncer, tls } },
    ],
    ['it is suspended', changed, { suspend: true }],
    ['the token is another one', { token: 'another' }, {}],
    [
      'another image is to run',
      {},
      { syncer: { ...clusterSync().spec.syncer, image: 'example.dev/other' } },
    ],
  ];
  for (const [what, parts, spec] of cases) {
    it(`says nothing while ${what}`, () => {
      const decision = decide(clusterSync(spec), worldWith(first, parts));
      const { statefulSet, arePodsKept } = decision.objects ?? {};
      if (!arePodsKept)
        assert.equal(statefulSet?.metadata.annotations?.[secretsChangedAnnotation], undefined);
      assert.equal(decision.status.secretsChangedAt, undefined);
      assert.deepEqual(told(decision), []);
    });
  }

  it('says nothing where no pods run any more', () => {
    const done = { state: 'Committed' } as const;
    const { status } = decide(clusterSync(done), runningWorld(answers.committed));
    const { objects } = decide(clusterSync(done, status), worldWith(first, changed));
    assert.equal(objects?.statefulSet.spec?.replicas, 0);
    assert.equal(objects.statefulSet.metadata.annotations?.[secretsChangedAnnotation], undefined);
  });

  it('keeps the time when its StatefulSet is deleted', () => {
    const status: ClusterSyncStatus = {
      ...decide(clusterSync(), worldWith(first)).status,
      secretsChangedAt: now,
    };
    for (const world of [emptyWorld(), worldWith(first)]) {
      const decision = decide(clusterSync({}, status), world);
      assert.equal(decision.status.secretsChangedAt, now);
      assert.deepEqual(told(decision), []);
    }
  });
});
