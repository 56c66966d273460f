import assert from 'node:assert/strict';
import type { ClusterSyncSpec, ClusterSyncStatus } from '../api/clustersync.ts';
import { findCondition } from '../kube/conditions.ts';
import { nowMs, runningImage } from '../operand/testing/running-pod.ts';
import { decide } from './decide.ts';
import type { World } from './decision.ts';
import { isUrgent } from './status.ts';
import {
  answers,
  changed,
  clusterSync,
  emptyWorld,
  failure,
  progress,
  refused,
  runningPod,
  runningWorld,
} from './testing/worlds.ts';

function statusIn(
  world: World,
  spec: Partial<ClusterSyncSpec> = {},
  former?: ClusterSyncStatus,
): ClusterSyncStatus {
  return decide(clusterSync(spec, former), world).status;
}

/** Ready, and which of Reconciling and Stalled is present. */
function readiness(status: ClusterSyncStatus): string {
  const { conditions } = status;
  const ready = findCondition(conditions, 'Ready');
  const others = ['Reconciling', 'Stalled'].filter((type) => findCondition(conditions, type));
  return [ready?.status, ready?.reason, ...others].join(' ');
}

function conditionIn(status: ClusterSyncStatus, type: string): string | undefined {
  return findCondition(status.conditions, type)?.status;
}

const waitingPod = (reason: string, restartCount = 0) => {
  const pod = runningPod();
  return {
    ...pod,
    status: {
      ...pod.status,
      containerStatuses: [
        {
          name: 'syncer',
          image: '',
          imageID: '',
          ready: false,
          restartCount,
          state: { waiting: { reason, message: 'because' } },
        },
      ],
    },
  };
};

describe('the status of a ClusterSync', () => {
  const cases: readonly (readonly [string, World, Partial<ClusterSyncSpec>, string, string])[] = [
    ['nothing made yet', emptyWorld(), {}, 'Pending', 'False PodPending Reconciling'],
    [
      'no Secret',
      emptyWorld({ source: { kind: 'missing', description: 'there is no Secret old-uri' } }),
      {},
      'Pending',
      'False SecretNotFound Reconciling',
    ],
    [
      'a Secret that is gone while the sync runs',
      runningWorld(answers.changes, { source: { kind: 'missing', description: 'gone' } }),
      {},
      'ChangeApplication',
      'True InSync',
    ],
    [
      'an image that cannot be had',
      emptyWorld({ pods: new Map([['orders-syncer-0', waitingPod('ImagePullBackOff')]]) }),
      {},
      'Stalled',
      'False ImagePullFailed Stalled',
    ],
    [
      'a container that ended once',
      emptyWorld({ pods: new Map([['orders-syncer-0', waitingPod('CrashLoopBackOff', 1)]]) }),
      {},
      'Pending',
      'False PodCrashLooping Reconciling',
    ],
    [
      'a container that ends again and again',
      emptyWorld({ pods: new Map([['orders-syncer-0', waitingPod('CrashLoopBackOff', 5)]]) }),
      {},
      'Stalled',
      'False PodCrashLooping Stalled',
    ],
    [
      'objects that the API server refuses',
      runningWorld(answers.changes, {
        rejection: { reason: 'InvalidPodTemplate', message: 'affinity', level: 'stalled' },
      }),
      {},
      'Stalled',
      'False InvalidPodTemplate Stalled',
    ],
    [
      'a syncer that does nothing yet',
      runningWorld(answers.idle),
      {},
      'Starting',
      'False Starting Reconciling',
    ],
    [
      'the initial copy',
      runningWorld(answers.copy),
      {},
      'InitialCopy',
      'False InitialCopy Reconciling',
    ],
    ['changes applied', runningWorld(answers.changes), {}, 'ChangeApplication', 'True InSync'],
    [
      'changes applied, an hour behind',
      runningWorld(changed(answers.changes, { lagTimeSeconds: 3600 })),
      {},
      'ChangeApplication',
      'True CatchingUp',
    ],
    [
      'changes applied, and nothing said of the lag',
      runningWorld(changed(answers.changes, { lagTimeSeconds: null })),
      {},
      'ChangeApplication',
      'True CatchingUp',
    ],
    [
      'a commit that is asked for during the copy',
      runningWorld(answers.copy),
      { state: 'Committed' },
      'InitialCopy',
      'False InitialCopy Reconciling',
    ],
    [
      'a commit that can be sent',
      runningWorld(answers.changes),
      { state: 'Committed' },
      'ChangeApplication',
      'False Committing Reconciling',
    ],
    [
      'a commit that cannot be sent yet',
      runningWorld(
        progress({ state: 'RUNNING', canCommit: false, info: 'change event application' }),
      ),
      { state: 'Committed' },
      'ChangeApplication',
      'False WaitingForCanCommit Reconciling',
    ],
    [
      'a commit under way',
      runningWorld(answers.committing),
      { state: 'Committed' },
      'Committing',
      'False Committing Reconciling',
    ],
    [
      'the end',
      runningWorld(answers.committed),
      { state: 'Committed' },
      'Committed',
      'True Committed',
    ],
    [
      'a commit by another hand',
      runningWorld(answers.committed),
      {},
      'Committed',
      'True Committed',
    ],
    [
      'Paused while the sync runs',
      runningWorld(answers.changes),
      { state: 'Paused' },
      'ChangeApplication',
      'False Pausing Reconciling',
    ],
    ['a pause', runningWorld(answers.paused), { state: 'Paused' }, 'Paused', 'True Paused'],
    [
      'the end of a pause',
      runningWorld(answers.paused),
      { state: 'Committed' },
      'Paused',
      'False Resuming Reconciling',
    ],
    [
      'Paused during the commit',
      runningWorld(answers.committing),
      { state: 'Paused' },
      'Committing',
      'False Committing Reconciling',
    ],
    [
      'Paused from the beginning',
      runningWorld(answers.idle),
      { state: 'Paused' },
      'Paused',
      'True Paused',
    ],
    [
      'Paused after the commit',
      runningWorld(answers.committed),
      { state: 'Paused' },
      'Committed',
      'True Committed',
    ],
    [
      'a wrong password',
      runningWorld(failure('AuthenticationFailed')),
      {},
      'Stalled',
      'False AuthenticationFailed Stalled',
    ],
    [
      'a server that is down',
      runningWorld(failure('ClusterUnreachable', false)),
      {},
      'Starting',
      'False ClusterUnreachable Reconciling',
    ],
    [
      'a start that is refused for good',
      runningWorld(answers.idle, {
        observation: { command: refused('start', 'ReversibleNotSupported') },
      }),
      {},
      'Stalled',
      'False InvalidConfiguration Stalled',
    ],
    [
      'a start that was refused before it was taken',
      runningWorld(answers.copy, {
        observation: { command: refused('start', 'DestinationNotEmpty') },
      }),
      {},
      'InitialCopy',
      'False InitialCopy Reconciling',
    ],
    [
      'a start that came too late',
      runningWorld(answers.idle, {
        observation: { command: refused('start', 'InvalidStateTransition') },
      }),
      {},
      'Starting',
      'False InvalidStateTransition Reconciling',
    ],
    [
      'no answer for a moment',
      runningWorld(answers.changes, {
        observation: { unreachable: { sinceMs: nowMs - 2_000, description: 'refused' } },
      }),
      {},
      'ChangeApplication',
      'True InSync',
    ],
    [
      'no answer any more',
      runningWorld(answers.changes, {
        observation: { unreachable: { sinceMs: nowMs - 6_000, description: 'refused' } },
      }),
      {},
      'ChangeApplication',
      'False SyncerUnreachable Reconciling',
    ],
    [
      'no answer yet',
      runningWorld(undefined, {
        observation: { unreachable: { sinceMs: nowMs - 6_000, description: 'refused' } },
      }),
      {},
      'Starting',
      'False Starting Reconciling',
    ],
    [
      'never an answer',
      runningWorld(undefined, {
        observation: { unreachable: { sinceMs: nowMs - 60_000, description: 'refused' } },
      }),
      {},
      'Starting',
      'False SyncerUnreachable Reconciling',
    ],
  ];
  for (const [what, world, spec, phase, expected] of cases) {
    it(`is ${phase}, Ready ${expected}: ${what}`, () => {
      const status = statusIn(world, spec);
      assert.equal(status.phase, phase);
      assert.equal(readiness(status), expected);
      assert.equal(status.observedGeneration, 3);
      for (const { observedGeneration } of status.conditions ?? []) {
        assert.equal(observedGeneration, 3);
      }
    });
  }

  it('names the error, and says what to do', () => {
    const status = statusIn(runningWorld(failure('AuthenticationFailed')));
    assert.equal(
      findCondition(status.conditions, 'Stalled')?.message,
      'the syncer old reports AuthenticationFailed: what is wrong (Correct the user name and password in the connection string.)',
    );
  });

  it('tells the milestones', () => {
    const milestones = (answer: (typeof answers)[keyof typeof answers]): unknown[] => {
      const status = statusIn(runningWorld(answer));
      return ['InitialCopyDone', 'CanCommit', 'Committed'].map((type) => conditionIn(status, type));
    };
    assert.deepEqual(milestones(answers.idle), ['False', 'False', 'False']);
    assert.deepEqual(milestones(answers.copy), ['False', 'False', 'False']);
    assert.deepEqual(milestones(answers.changes), ['True', 'True', 'False']);
    assert.deepEqual(milestones(answers.committing), ['True', 'False', 'False']);
    assert.deepEqual(milestones(answers.committed), ['True', 'False', 'True']);
  });

  it('has the figures of the copy', () => {
    const { totals, lagTimeSeconds, canCommit, canWrite } = statusIn(runningWorld(answers.copy));
    assert.deepEqual(totals, { estimatedTotalBytes: 200, estimatedCopiedBytes: 101, percent: 50 });
    assert.equal(lagTimeSeconds, undefined, 'nothing can lag yet');
    assert.equal(canCommit, false);
    assert.equal(canWrite, false);
  });

  it('has the figures of the changes', () => {
    const status = statusIn(runningWorld(answers.changes));
    assert.equal(status.totals?.percent, 100, 'the copy is done, whatever the estimate was');
    assert.equal(status.lagTimeSeconds, 2);
    assert.equal(status.canCommit, true);
    assert.equal(status.coordinatorID, 'old');
  });

  it('says 99 % until the copy is done', () => {
    const copy = { estimatedTotalBytes: 10, estimatedCopiedBytes: 30 };
    const answer = progress({ state: 'RUNNING', info: 'collection copy', collectionCopy: copy });
    assert.equal(statusIn(runningWorld(answer)).totals?.percent, 99);
  });

  it('has the progress as it was received', () => {
    const raw = { state: 'IDLE', canCommit: false, info: null, more: { of: ['another tool'] } };
    assert.deepEqual(statusIn(runningWorld(progress(raw))).instances, [
      { id: 'old', pod: 'orders-syncer-0', ready: true, image: runningImage, progress: raw },
    ]);
  });

  it('has the image that runs, and none where nothing does', () => {
    const imagesIn = (world: World) => statusIn(world).instances?.map(({ image }) => image);
    assert.deepEqual(imagesIn(runningWorld(answers.changes)), [runningImage]);
    assert.deepEqual(imagesIn(emptyWorld()), [undefined]);
    const starting = new Map([['orders-syncer-0', waitingPod('ContainerCreating')]]);
    assert.deepEqual(imagesIn(emptyWorld({ pods: starting })), [undefined]);
  });

  it('keeps the last progress, and says why there is no newer one', () => {
    const former = statusIn(runningWorld(answers.changes));
    const [instance] =
      statusIn(runningWorld(failure('OplogRolledOver')), {}, former).instances ?? [];
    assert.ok(instance);
    assert.deepEqual(instance.progress, former.instances?.[0]?.progress);
    assert.equal(instance.error, 'OplogRolledOver: what is wrong');
  });

  it('does not know whether it can commit when nobody answers', () => {
    const unreachable = { sinceMs: nowMs - 6_000, description: 'refused' };
    const status = statusIn(runningWorld(answers.changes, { observation: { unreachable } }));
    assert.equal(conditionIn(status, 'CanCommit'), 'Unknown');
    assert.equal(conditionIn(status, 'InitialCopyDone'), 'True');
    assert.equal(status.canCommit, false);
    assert.equal(status.lagTimeSeconds, undefined);
  });

  it('stays committed whatever becomes of the pods', () => {
    const former = statusIn(runningWorld(answers.committed), { state: 'Committed' });
    const later = statusIn(emptyWorld({ nowMs: nowMs + 60_000 }), { state: 'Committed' }, former);
    assert.equal(readiness(later), 'True Committed');
    assert.equal(later.phase, 'Committed');
    assert.equal(later.committedAt, '2026-01-01T12:00:00Z');
    assert.deepEqual(later.conditions, former.conditions);
  });

  it('can be made again from nothing', () => {
    const made = statusIn(runningWorld(answers.changes), {}, undefined);
    assert.deepEqual(statusIn(runningWorld(answers.changes), {}, made), made);
  });

  it('says that the operator is told to keep its hands off', () => {
    const status = statusIn(runningWorld(answers.changes), { suspend: true });
    assert.equal(conditionIn(status, 'Suspended'), 'True');
    assert.equal(readiness(status), 'True InSync');
  });
});

describe('isUrgent', () => {
  const status = statusIn(runningWorld(answers.changes));

  it('is not for figures', () => {
    assert.equal(isUrgent(status, { ...status, lagTimeSeconds: 9 }), false);
  });

  it('is for whatever else changes', () => {
    assert.equal(isUrgent(undefined, status), true);
    assert.equal(isUrgent(status, { ...status, canCommit: false }), true);
    const [instance] = status.instances ?? [];
    assert.ok(instance?.image !== undefined);
    const { image: _, ...ended } = instance;
    assert.equal(isUrgent(status, { ...status, instances: [ended] }), true);
    assert.equal(isUrgent(status, statusIn(runningWorld(answers.committing))), true);
  });
});
