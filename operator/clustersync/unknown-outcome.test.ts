import assert from 'node:assert/strict';
import type { ClusterSyncSpec } from '../api/clustersync.ts';
import { nowMs } from '../operand/testing/running-pod.ts';
import { decide } from './decide.ts';
import type { World } from './decision.ts';
import {
  answers,
  changed,
  clusterSync,
  manual,
  phaseAndReadiness,
  readyMessage,
  runningWorld,
} from './testing/worlds.ts';

describe('what a ClusterSync says of commands whose outcome is not known', () => {
  const statusIn = (world: World, spec: Partial<ClusterSyncSpec> = {}) =>
    decide(clusterSync({ state: 'Committed', ...spec }), world).status;
  const messageIn = (world: World): string => readyMessage(statusIn(world));

  const unanswered = {
    error: {
      name: 'SyncerUnreachable',
      description: 'no answer within 150000 ms',
      isLasting: false,
      isUnanswered: true,
    },
    ...{ attempts: 1, endedMs: nowMs - 500, retryAtMs: nowMs + 1_000 },
  } as const;

  it('does not say that a commit is refused whose answer was lost', () => {
    const observation = { command: { name: 'commit', kind: 'refused', ...unanswered } } as const;
    assert.equal(
      messageIn(runningWorld(answers.changes, { observation })),
      'the syncer old has not answered commit, and it is unknown whether it was accepted: no answer within 150000 ms',
    );
    const unreachable = { sinceMs: nowMs - 6_000, description: 'no route' };
    assert.equal(
      messageIn(runningWorld(answers.changes, { observation: { ...observation, unreachable } })),
      'the syncer old in the pod orders-syncer-0: no route; it is unknown whether it has accepted commit',
    );
    const sending = { command: { name: 'commit', kind: 'sending' }, unreachable } as const;
    assert.match(
      messageIn(runningWorld(answers.changes, { observation: sending })),
      /: no route; it is unknown whether it has accepted commit$/,
    );
    assert.doesNotMatch(
      messageIn(runningWorld(answers.changes, { observation: { unreachable } })),
      /commit/,
    );
  });

  it('does not say that a commit is still to be sent, or that nothing is under way, where one is', () => {
    const underWay = changed(answers.changes, { canCommit: false, commitUnderWay: true });
    const automatic = { ...manual, mode: 'Automatic' } as const;
    for (const spec of [
      { state: 'Committed' },
      { state: 'Running' },
      { commit: automatic },
    ] as const) {
      const status = statusIn(runningWorld(underWay), spec);
      assert.equal(
        phaseAndReadiness(status),
        'ChangeApplication: False Committing',
        JSON.stringify(spec),
      );
      assert.equal(
        readyMessage(status),
        'a commit was sent, and it is unknown yet whether it was accepted',
      );
    }
  });
});
