import assert from 'node:assert/strict';
import { findCondition } from '../kube/conditions.ts';
import { decide, type World } from './decide.ts';
import type { Claim } from './destination-claims.ts';
import {
  answers,
  clusterSync,
  emptyWorld,
  outlook,
  readyMessage,
  runningWorld,
} from './testing/worlds.ts';

const taken: Claim = {
  kind: 'taken',
  host: 'db.example.com:27017',
  holder: { namespace: 'shop', name: 'first', uid: 'first-uid' },
};

describe('a ClusterSync whose destination is not its own', () => {
  const worlds: readonly (readonly [string, World])[] = [
    ['that is new', emptyWorld()],
    ...Object.entries(answers).map(
      ([name, answer]) => [`whose syncer says ${name}`, runningWorld(answer)] as const,
    ),
  ];
  for (const [what, world] of worlds) {
    for (const state of ['Running', 'Paused', 'Committed'] as const) {
      for (const claim of [taken, { kind: 'unreadable' }] as const) {
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
    assert.equal(outlook(status), 'Pending: False DestinationInUse');
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
    assert.equal(outlook(status), 'Pending: False DestinationInUse');
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
    const { status } = decide(clusterSync(), { ...emptyWorld(), claim: { kind: 'unreadable' } });
    assert.equal(outlook(status), 'Stalled: False InvalidConfiguration');
  });

  it('is committed, if it is', () => {
    const { status } = decide(clusterSync({ state: 'Committed' }), {
      ...runningWorld(answers.committed),
      claim: taken,
    });
    assert.equal(outlook(status), 'Committed: True Committed');
  });
});
