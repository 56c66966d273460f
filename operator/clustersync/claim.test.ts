import assert from 'node:assert/strict';
import type { StatefulSet } from '../kube/builtin-resources.ts';
import { findCondition } from '../kube/conditions.ts';
import { decide } from './decide.ts';
import type { World } from './decision.ts';
import type { Claim } from './destination-claims.ts';
import {
  answers,
  clusterSync,
  emptyWorld,
  failure,
  phaseAndReadiness,
  readyMessage,
  runningWorld,
} from './testing/worlds.ts';

const taken: Claim = {
  kind: 'taken',
  host: 'db.example.com:27017',
  holder: { namespace: 'shop', name: 'first', uid: 'first-uid' },
};

const stopped = {
  apiVersion: 'apps/v1',
  kind: 'StatefulSet',
  metadata: { name: 'orders-syncer', namespace: 'shop' },
  spec: { selector: {}, template: {}, serviceName: '' },
} as const;
const broken: Claim = { kind: 'broken', lease: 'clustersync-destination-1' };

describe('a ClusterSync whose destination is not its own', () => {
  const worlds: readonly (readonly [string, World])[] = [
    ['that is new', emptyWorld()],
    ...Object.entries(answers).map(
      ([name, answer]) => [`whose syncer says ${name}`, runningWorld(answer)] as const,
    ),
  ];
  for (const [what, world] of worlds) {
    for (const state of ['Running', 'Paused', 'Committed'] as const) {
      for (const claim of [taken, broken, { kind: 'unreadable', isHeld: true }] as const) {
        it(`${what}, with the state ${state}, makes and sends nothing: ${claim.kind}`, () => {
          const { objects, commands } = decide(clusterSync({ state }), { ...world, claim });
          assert.deepEqual(
            { objects, commands },
            {
              objects: undefined,
              commands: [],
            },
          );
        });
      }
    }
  }

  it('is not told the name or the namespace of a holder elsewhere', () => {
    const claim = { ...taken, holder: { ...taken.holder, namespace: 'other' } };
    const { status, events } = decide(clusterSync(), { ...emptyWorld(), claim });
    assert.equal(phaseAndReadiness(status), 'Pending: False DestinationInUse');
    assert.match(
      readyMessage(status),
      /db\.example\.com:27017.* a ClusterSync of another namespace:/,
    );
    assert.doesNotMatch(JSON.stringify([status, events]), /other\/|first/);
  });

  it('waits, says for whom, and looks again soon', () => {
    const { status, events, requeueAfterMs } = decide(clusterSync(), {
      ...emptyWorld(),
      claim: taken,
    });
    assert.equal(phaseAndReadiness(status), 'Pending: False DestinationInUse');
    assert.match(readyMessage(status), /db\.example\.com:27017.* ClusterSync shop\/first:/);
    assert.ok(findCondition(status.conditions, 'Reconciling'));
    assert.equal(findCondition(status.conditions, 'Stalled'), undefined);
    assert.deepEqual(
      events.map(({ type, reason }) => [type, reason]),
      [['Warning', 'DestinationInUse']],
    );
    assert.ok(requeueAfterMs <= 3_000);
  });

  it('is stalled by a connection string that cannot be read', () => {
    const { status } = decide(clusterSync(), {
      ...emptyWorld(),
      claim: { kind: 'unreadable', isHeld: true },
    });
    assert.equal(phaseAndReadiness(status), 'Stalled: False InvalidConfiguration');
  });

  it('is committed, if it is', () => {
    const { status } = decide(clusterSync({ state: 'Committed' }), {
      ...runningWorld(answers.committed),
      claim: taken,
    });
    assert.equal(phaseAndReadiness(status), 'Committed: True Committed');
  });

  it('has its pods ended, whatever else is wrong or asked for', () => {
    const committed = clusterSync({ state: 'Committed' });
    for (const sync of [clusterSync(), clusterSync({ state: 'Paused' }), committed]) {
      for (const each of [taken, broken]) {
        const world: World = { ...runningWorld(answers.changes), claim: each };
        assert.equal(decide(sync, world).toStop, world.statefulSet);
        const rejection = { reason: 'QuotaExceeded', message: '', level: 'warning' } as const;
        assert.equal(decide(sync, { ...world, rejection }).toStop, world.statefulSet);
        const statefulSet = { ...stopped, spec: { ...stopped.spec, replicas: 0 } };
        assert.equal(decide(sync, { ...world, statefulSet }).toStop, undefined);
      }
    }
    for (const each of [taken, broken]) {
      const suspended = { ...runningWorld(answers.changes), claim: each };
      assert.ok(decide(clusterSync({ suspend: true }), suspended).toStop);
    }
    assert.equal(decide(clusterSync(), emptyWorld({ claim: taken })).toStop, undefined);
  });

  it('is told that an administrator has broken its claim, and what to do', () => {
    const { status, events } = decide(clusterSync(), emptyWorld({ claim: broken }));
    assert.equal(phaseAndReadiness(status), 'Stalled: False DestinationClaimBroken');
    assert.match(readyMessage(status), /clustersync-destination-1/);
    assert.deepEqual(
      events.map(({ type, reason }) => [type, reason]),
      [['Warning', 'DestinationClaimBroken']],
    );
  });

  it('is let go when it is deleted, since nothing of it can be ended any more', () => {
    const sync = clusterSync({ onDelete: 'Clean' }, { ...clusterSync().status, startedAt: 'then' });
    const metadata = {
      ...sync.metadata,
      deletionTimestamp: '2026-01-01T00:00:00Z',
      finalizers: ['clustersync.dev/reset'],
    };
    for (const claim of [taken, broken]) {
      const decision = decide({ ...sync, metadata }, { ...runningWorld(answers.changes), claim });
      assert.deepEqual([decision.finalizers, decision.isLeft], [[], true]);
    }
  });
});

describe('a ClusterSync whose syncer has not proven that the destination is its own', () => {
  const claim = { kind: 'open', isContested: false } as const;

  it('has pods, and is sent nothing', () => {
    assert.ok(decide(clusterSync(), emptyWorld({ claim })).objects);
    for (const [name, answer] of Object.entries(answers)) {
      for (const state of ['Running', 'Paused', 'Committed'] as const) {
        const decision = decide(clusterSync({ state }), { ...runningWorld(answer), claim });
        assert.deepEqual([decision.commands, decision.toStop], [[], undefined], name);
        assert.ok(decision.objects);
      }
    }
  });

  it('continues no sync that may be that of another one', () => {
    const argsOf = (isContested: boolean): readonly string[] => {
      const { objects } = decide(
        clusterSync(),
        emptyWorld({ claim: { kind: 'open', isContested } }),
      );
      return objects?.statefulSet.spec?.template?.spec?.containers?.[0]?.args ?? [];
    };
    assert.ok(argsOf(true).includes('--continues=none'));
    assert.equal(argsOf(true).length, argsOf(false).length + 1);
    const { objects } = decide(clusterSync(), emptyWorld());
    const held = objects?.statefulSet.spec?.template?.spec?.containers?.[0]?.args;
    assert.deepEqual(held, argsOf(false));
  });

  it('copies and applies with as many workers as the spec names', () => {
    const argsOf = (workers: object): readonly string[] => {
      const sync = clusterSync();
      const spec = { ...sync.spec, syncer: { ...sync.spec.syncer, ...workers } };
      const { objects } = decide({ ...sync, spec }, emptyWorld());
      return objects?.statefulSet.spec?.template?.spec?.containers?.[0]?.args ?? [];
    };
    const added = (workers: object): readonly string[] => {
      const without = argsOf({});
      return argsOf(workers).filter((arg) => !without.includes(arg));
    };
    assert.deepEqual(added({ copyWorkers: 3 }), ['--copyWorkers=3']);
    const both = ['--copyWorkers=2', '--applyWorkers=5'];
    assert.deepEqual(added({ copyWorkers: 2, applyWorkers: 5 }), both);
  });

  it('continues no more and no less where its Secret, and so its hosts, are not known now', () => {
    const made = (isContested: boolean | undefined, parts: Partial<World> = {}) => {
      const world = emptyWorld({ claim: { kind: 'open', isContested }, ...parts });
      return decide(clusterSync(), world).objects?.statefulSet;
    };
    const argsOf = (statefulSet: ReturnType<typeof made>): readonly string[] =>
      statefulSet?.spec?.template?.spec?.containers?.[0]?.args ?? [];
    for (const isContested of [true, false]) {
      const first = made(isContested);
      assert.equal(argsOf(first).includes('--continues=none'), isContested);
      const second = made(undefined, {
        destination: { kind: 'missing', description: 'Secret new-uri is missing' },
        statefulSet: first as StatefulSet,
      });
      assert.deepEqual(argsOf(second), argsOf(first));
    }
  });

  it('is not reset, neither to begin again nor when it is deleted', () => {
    const startOver = { token: '1', destination: 'Clean' } as const;
    const world = { ...runningWorld(answers.changes), claim };
    assert.deepEqual(decide(clusterSync({ startOver }), world).commands, []);
    const sync = clusterSync({ onDelete: 'Clean' });
    const metadata = {
      ...sync.metadata,
      deletionTimestamp: '2026-01-01T00:00:00Z',
      finalizers: ['clustersync.dev/reset'],
    };
    assert.deepEqual(decide({ ...sync, metadata }, world).commands, []);
    const held = decide({ ...sync, metadata }, runningWorld(answers.changes));
    assert.deepEqual(
      held.commands.map(({ command }) => command.name),
      ['reset'],
    );
  });

  it('says what it waits for, once a syncer answers', () => {
    const { status } = decide(clusterSync(), { ...runningWorld(answers.idle), claim });
    assert.equal(phaseAndReadiness(status), 'Starting: False DestinationNotProven');
    const failed = decide(clusterSync(), {
      ...runningWorld(failure('AuthenticationFailed')),
      claim,
    });
    assert.equal(phaseAndReadiness(failed.status), 'Stalled: False AuthenticationFailed');
  });
});
