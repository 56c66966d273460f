import assert from 'node:assert/strict';
import type { ClusterSyncStatus } from '../api/clustersync.ts';
import { findCondition } from '../kube/conditions.ts';
import { tokenArgument } from '../operand/workload.ts';
import { runningProcess } from '../operand/testing/running-pod.ts';
import type { SourceView } from './source-topologies.ts';
import {
  answers,
  clusterSync,
  decideOn,
  emptyWorld,
  phaseAndReadiness,
  podName,
  readyMessage,
  runningPod,
  runningWorld,
  shardedWorld,
  threeShards,
} from './testing/worlds.ts';

const { idle, copy, changes, paused } = answers;

describe('the source of a ClusterSync', () => {
  const found = (...shards: string[]): SourceView => ({
    kind: 'found',
    source: { kind: 'Sharded', shards },
  });
  const failed = (name: string, isLasting: boolean): SourceView => ({
    kind: 'failed',
    error: { name, description: 'what is wrong', isLasting },
  });
  const undecided: ClusterSyncStatus = {};

  it('is told by one pod, which is told nothing, and is stored before others are made', () => {
    const begun = decideOn(emptyWorld(), {}, undecided);
    assert.equal(begun.objects?.statefulSet.spec?.replicas, 1);
    assert.ok(
      begun.objects.statefulSet.spec.template?.spec?.containers?.[0]?.args?.includes('--id=old'),
    );
    const asked = decideOn(runningWorld(undefined), {}, undecided);
    assert.equal(asked.sourceTarget?.process, runningProcess);
    assert.deepEqual([...asked.targets], []);
    assert.deepEqual(asked.commands, []);
    const first = decideOn(runningWorld(undefined, { sourceView: found('a', 'b') }), {}, undecided);
    assert.equal(first.objects, undefined);
    assert.deepEqual([...first.targets], []);
    assert.deepEqual(first.status.source, { kind: 'Sharded', shards: ['a', 'b'] });
    assert.equal(first.requeueAfterMs, 0);
    const second = decideOn(
      runningWorld(undefined, { sourceView: found('a', 'b') }),
      {},
      first.status,
    );
    assert.equal(second.objects?.statefulSet.spec?.replicas, 2);
    assert.ok(second.requeueAfterMs > 0);
    // The pod that reported it has another name than it is going to have.
    assert.deepEqual([...second.targets], []);
    assert.equal(second.sourceTarget, undefined);
    assert.match(readyMessage(second.status), /orders-syncer-0 is being replaced/);
    const pods = new Map([[podName, runningPod(podName, ['a', 'b'])]]);
    const third = decideOn(
      runningWorld(undefined, { sourceView: found('a', 'b'), pods }),
      {},
      first.status,
    );
    assert.deepEqual([...third.targets.keys()], ['a']);
    assert.equal(third.sourceTarget?.process, runningProcess);
  });

  it('that is a replica set keeps the pod which told it', () => {
    const sourceView = { kind: 'found', source: { kind: 'ReplicaSet', shards: ['rs'] } } as const;
    const first = decideOn(runningWorld(undefined, { sourceView }), {}, undecided);
    const second = decideOn(runningWorld(undefined, { sourceView }), {}, first.status);
    assert.deepEqual([...second.targets.keys()], ['old']);
    // It is asked once.
    assert.equal(second.sourceTarget, undefined);
    assert.deepEqual(
      second.objects?.statefulSet,
      decideOn(emptyWorld({ token: 'token' }), {}, undecided).objects?.statefulSet,
    );
  });

  it('of which the tool does not tell has one pod, and does not keep a commit waiting', () => {
    const sourceView = { kind: 'found', source: { kind: 'Unknown', shards: [] } } as const;
    const { status } = decideOn(runningWorld(undefined, { sourceView }), {}, undecided);
    assert.deepEqual(status.source, { kind: 'Unknown', shards: [] });
    const world = runningWorld(changes, { sourceView: { kind: 'unknown' } });
    const decision = decideOn(world, { state: 'Committed' }, status);
    assert.deepEqual(
      decision.commands.map(({ id, command }) => [id, command.name]),
      [['old', 'commit']],
    );
    assert.equal(decision.sourceTarget, undefined);
  });

  const containerOf = (status: ClusterSyncStatus) => {
    const { objects } = decideOn(emptyWorld({ token: 'a' }), {}, status);
    const [container] = objects?.statefulSet.spec?.template?.spec?.containers ?? [];
    assert.ok(container);
    return { args: container.args ?? [], env: container.env, objects };
  };

  it('decides how many pods there are and what they are called', () => {
    const { args, env, objects } = containerOf(threeShards);
    assert.equal(objects?.statefulSet.spec?.replicas, 3);
    assert.ok(args.includes('--ids=shard-0,shard-1,shard-2'), args.join(' '));
    assert.deepEqual(env, [
      { name: 'CLUSTERSYNC_CONNECTION_FILES', value: 'refuse' },
      {
        name: 'CLUSTERSYNC_INSTANCE',
        valueFrom: { fieldRef: { fieldPath: `metadata.labels['apps.kubernetes.io/pod-index']` } },
      },
    ]);
  });

  it('has one pod that is called as the source when it is a replica set', () => {
    const { args, env, objects } = containerOf({ source: { kind: 'ReplicaSet', shards: ['rs'] } });
    assert.equal(objects?.statefulSet.spec?.replicas, 1);
    assert.deepEqual(args, [
      'syncer',
      '--id=old',
      '--cluster0File=/etc/clustersync/source/uri',
      '--cluster1File=/etc/clustersync/destination/uri',
      '--port=27182',
      '--host=::',
      tokenArgument('a'),
      '--logLevel=info',
    ]);
    assert.deepEqual(env, [{ name: 'CLUSTERSYNC_CONNECTION_FILES', value: 'refuse' }]);
  });

  it('may be a sharded cluster of one shard', () => {
    const { args, env } = containerOf({ source: { kind: 'Sharded', shards: ['only'] } });
    assert.ok(args.includes('--id=only'), args.join(' '));
    assert.deepEqual(env, [{ name: 'CLUSTERSYNC_CONNECTION_FILES', value: 'refuse' }]);
  });

  const replicaSet: ClusterSyncStatus = { source: { kind: 'ReplicaSet', shards: ['rs'] } };

  for (const [what, status] of [
    ['a replica set', replicaSet],
    ['a sharded cluster', threeShards],
  ] as const)
    it(`has as many pods as are asked for when it is ${what}`, () => {
      const syncer = (instances: number) => {
        const { objects } = decideOn(
          emptyWorld({ token: 'a' }),
          { syncer: { ...clusterSync().spec.syncer, instances } },
          status,
        );
        const [container] = objects?.statefulSet.spec?.template?.spec?.containers ?? [];
        return { replicas: objects?.statefulSet.spec?.replicas, args: container?.args ?? [] };
      };
      const two = syncer(2);
      assert.equal(two.replicas, 2);
      assert.ok(two.args.includes('--ids=old-0,old-1'), two.args.join(' '));
      const one = syncer(1);
      assert.equal(one.replicas, 1);
      assert.ok(one.args.includes('--id=old'), one.args.join(' '));
    });

  for (const instances of [1, 2])
    it(`may have shards of any name when ${instances} are asked for: none is called as a shard`, () => {
      const decision = decideOn(
        runningWorld(undefined, { sourceView: found('a,b', 'c d', '$e') }),
        { syncer: { ...clusterSync().spec.syncer, instances } },
        undecided,
      );
      assert.deepEqual(decision.status.source, { kind: 'Sharded', shards: ['a,b', 'c d', '$e'] });
    });

  for (const [what, sourceView, name, instances, expected] of [
    [
      'several instances of a tool that does not tell the topology',
      { kind: 'found', source: { kind: 'Unknown', shards: [] } },
      'old',
      2,
      /spec\.syncer\.instances must be 1/,
    ],
    [
      'one instance that is called as a shard among others',
      found('old', 'other'),
      'old',
      1,
      /a shard named "old", which cannot be spec\.source\.name/,
    ],
  ] as const)
    it(`does not go with ${what}`, () => {
      const { spec } = clusterSync();
      const decision = decideOn(
        runningWorld(undefined, { sourceView }),
        { source: { ...spec.source, name }, syncer: { ...spec.syncer, instances } },
        undecided,
      );
      assert.equal(phaseAndReadiness(decision.status), 'Stalled: False SourceNotSupported');
      assert.match(readyMessage(decision.status), expected);
      assert.equal(decision.status.source, undefined);
      assert.deepEqual(decision.commands, []);
    });

  const names = Array.from({ length: 257 }, (_, index) => `shard-${index}`);
  for (const [what, sourceView, expected] of [
    ['that is being asked', { kind: 'unknown' }, 'Starting: False PodPending'],
    [
      'that cannot be reached',
      failed('ClusterUnreachable', false),
      'Starting: False ClusterUnreachable',
    ],
    [
      'that refuses the password',
      failed('AuthenticationFailed', true),
      'Stalled: False AuthenticationFailed',
    ],
    [
      'that is of another kind',
      failed('TopologyNotSupported', true),
      'Stalled: False InvalidConfiguration',
    ],
    ['with too many shards', found(...names), 'Stalled: False SourceNotSupported'],
    ['without shards', found(), 'Stalled: False SourceNotSupported'],
    ['with a comma in the name of a shard', found('a,b'), 'Stalled: False SourceNotSupported'],
    ['with two shards of one name', found('a', 'b', 'a'), 'Stalled: False SourceNotSupported'],
    [
      'with a longer name than the status has room for',
      { kind: 'found', source: { kind: 'ReplicaSet', shards: ['x'.repeat(257)] } },
      'Stalled: False SourceNotSupported',
    ],
  ] as const) {
    it(`has one pod, which tells, when it is one ${what}`, () => {
      const decision = decideOn(runningWorld(undefined, { sourceView }), {}, undecided);
      assert.equal(phaseAndReadiness(decision.status), expected);
      assert.equal(decision.objects?.statefulSet.spec?.replicas, 1);
      assert.equal(decision.sourceTarget?.process, runningProcess);
      assert.deepEqual([...decision.targets], []);
      assert.deepEqual(decision.commands, []);
      assert.equal(decision.status.source, undefined);
    });
  }

  it('has no pod when no process could use its connection string', () => {
    const error = { name: 'InvalidOption', description: 'what is wrong', isLasting: true };
    const sourceView = { kind: 'refused', error } as const;
    const decision = decideOn(emptyWorld({ sourceView, token: 'a' }), {}, undecided);
    assert.equal(phaseAndReadiness(decision.status), 'Stalled: False InvalidConfiguration');
    assert.match(readyMessage(decision.status), /^the Secret of the source: what is wrong/);
    assert.equal(decision.objects, undefined);
  });

  it('changes nothing when it cannot be reached later', () => {
    const scenes = [changes, changes, changes] as const;
    const reached = decideOn(shardedWorld(scenes));
    const sourceView = failed('ClusterUnreachable', false);
    const later = decideOn(shardedWorld(scenes, { sourceView }), {}, reached.status);
    assert.deepEqual(later.objects, reached.objects);
    const others = ({ conditions, ...rest }: typeof later.status) => {
      return { ...rest, conditions: conditions?.filter(({ type }) => type !== 'ReadyToCommit') };
    };
    assert.deepEqual(others(later.status), others(reached.status));
    const ready = findCondition(later.status.conditions, 'ReadyToCommit');
    assert.match(String(ready?.message), /^the source has not confirmed yet/);
  });

  it('has to be known before a commit', () => {
    const scenes = [changes, changes, changes] as const;
    const old = {
      kind: 'found',
      source: { kind: 'Sharded', shards: threeShards.source?.shards ?? [] },
      isOld: true,
    } as const;
    const views = [{ kind: 'unknown' }, failed('ClusterUnreachable', false), old] as const;
    for (const sourceView of views) {
      const world = shardedWorld(scenes, { sourceView });
      const decision = decideOn(world, { state: 'Committed' });
      assert.deepEqual(decision.commands, []);
      assert.match(readyMessage(decision.status), /its shards are unchanged/);
    }
  });

  for (const [what, now, expected] of [
    ['a shard is added', found('shard-0', 'shard-1', 'shard-2', 'shard-3'), /added: shard-3\)/],
    ['a shard is removed', found('shard-0', 'shard-2'), /removed: shard-1\)/],
    ['it is another one', found('shard-0', 'shard-1', 'other'), /added: other; removed: shard-2\)/],
    [
      'it is a replica set now',
      { kind: 'found', source: { kind: 'ReplicaSet', shards: ['rs'] } },
      /is now a replica set/,
    ],
  ] as const) {
    it(`stalls the sync when ${what}, changes no pods, and sends nothing that continues it`, () => {
      const scenes = [changes, changes, changes] as const;
      const world = shardedWorld(scenes, { sourceView: now });
      const decision = decideOn(world, { state: 'Committed' });
      assert.equal(phaseAndReadiness(decision.status), 'Stalled: False ShardsChanged');
      assert.match(readyMessage(decision.status), expected);
      assert.equal(decision.status.canCommit, false);
      assert.equal(findCondition(decision.status.conditions, 'CanCommit')?.reason, 'ShardsChanged');
      assert.deepEqual(decision.status.source, threeShards.source);
      assert.equal(decision.objects?.statefulSet.spec?.replicas, 3);
      assert.deepEqual(decision.commands, []);
      const others = shardedWorld([idle, paused, copy], { sourceView: now });
      assert.deepEqual(decideOn(others).commands, []);
      assert.equal(decideOn(world, { state: 'Paused' }).commands.length, 3);
    });
  }
});
