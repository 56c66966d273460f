import assert from 'node:assert/strict';
import type { SyncVerification, SyncVerificationStatus } from '../api/sync-verification.ts';
import { findCondition, type Condition } from '../kube/conditions.ts';
import type { CommitWorld } from './commit-facts.ts';
import { nowMs } from '../operand/testing/running-pod.ts';
import {
  automatic,
  commandsIn,
  decideIn,
  holdOf,
  views,
  web,
} from './testing/automatic-commits.ts';
import { answers, changed, phaseAndReadiness, runningWorld } from './testing/worlds.ts';

/** The sync that the verification is about. */
const changes = changed(answers.changes, { startedAt: 'now' });

function conditions(ready: string, consistent?: 'True' | 'Unknown'): readonly Condition[] {
  const given = { message: '', lastTransitionTime: 'x' };
  return [
    { ...given, type: 'Ready', status: 'False', reason: ready },
    ...(consistent
      ? [{ ...given, type: 'Consistent', status: consistent, reason: 'Equal' } as const]
      : []),
  ];
}

describe('what a commit waits for in its verification', () => {
  const counts = {
    totalTasks: 4,
    addedTasks: 0,
    processingTasks: 0,
    failedTasks: 0,
    recheckTasks: 0,
  };
  const run = { attempt: 1, direction: 'Forward', inputsHash: '', syncStartedAt: 'now' } as const;
  const checking: SyncVerificationStatus = {
    phase: 'Checking',
    run,
    conditions: conditions('Checking'),
    verificationStatus: counts,
    verifier: { progress: { phase: 'recheck' } },
  };
  const quiet = {
    ...{ generation: 1, mismatchCount: 0, longestSeconds: 0, isWhole: true },
    ...{ shortSeconds: 60, ageSeconds: 0 },
  };
  const equal: SyncVerificationStatus = {
    ...checking,
    phase: 'Succeeded',
    verdict: 'Equal',
    completedAt: 'x',
    conditions: conditions('Completed', 'True'),
  };
  const spec = { commit: { ...automatic, verificationRef: { name: 'check' } } };
  const waiting = 'ChangeApplication: False WaitingForVerification';
  const failed = 'Stalled: False VerificationFailed';

  function verification(
    status: SyncVerificationStatus | undefined,
    name = 'orders',
    rerun?: string,
    metadata: Partial<SyncVerification['metadata']> = {},
  ): SyncVerification {
    return {
      apiVersion: 'clustersync.dev/v1alpha1',
      kind: 'SyncVerification',
      metadata: { name: 'check', namespace: 'shop', ...metadata },
      spec: {
        clusterSyncRef: { name },
        comparison: 'Bytes',
        parallelism: 1,
        verifier: { resources: {}, logLevel: 'info' },
        ...(rerun !== undefined && { rerun }),
      },
      ...(status && { status }),
    };
  }

  const cases: readonly (readonly [string, SyncVerification | undefined, string | undefined])[] = [
    ['its being there', undefined, waiting],
    [
      'its being about this sync',
      verification(checking, 'other'),
      'Stalled: False WaitingForVerification',
    ],
    ['its beginning', verification(undefined), waiting],
    ['its check', verification({ ...checking, phase: 'Starting' }), waiting],
    [
      'its turning round',
      verification({ ...checking, run: { ...run, direction: 'Reverse' } }),
      waiting,
    ],
    [
      'the end of its first pass',
      verification({
        ...checking,
        verifier: { progress: { phase: 'check' } },
        verificationStatus: { ...counts, addedTasks: 3 },
      }),
      waiting,
    ],
    ['its counts', verification({ ...checking, verifier: {}, verificationStatus: {} }), waiting],
    [
      'differences to pass',
      verification({ ...checking, verificationStatus: { ...counts, failedTasks: 1 } }),
      waiting,
    ],
    [
      'differences of indexes to pass',
      verification({ ...checking, verificationStatus: { ...counts, metadataMismatchTasks: 1 } }),
      waiting,
    ],
    [
      'another run after a failure',
      verification({ ...checking, phase: 'Failed', verdict: 'Different', completedAt: 'x' }),
      failed,
    ],
    [
      'another run after an error',
      verification({ ...checking, phase: 'Failed', completedAt: 'x' }),
      failed,
    ],
    ['nothing, where it is equal', verification(equal), undefined],
    [
      'another run, where it speaks of the data no more',
      verification({ ...equal, conditions: conditions('Completed', 'Unknown') }),
      'Stalled: False WaitingForVerification',
    ],
    ['its rerun, where it is equal', verification(equal, 'orders', 'again'), waiting],
    [
      'its verifier, that does not answer',
      verification({ ...checking, conditions: conditions('VerifierUnreachable') }),
      waiting,
    ],
    [
      'its verifier, that does not know the latest',
      verification({ ...checking, conditions: conditions('ProgressNotLatest') }),
      waiting,
    ],
    ['its rerun, while it runs', verification(checking, 'orders', 'again'), waiting],
    [
      'another one, while it is being deleted',
      verification(checking, 'orders', undefined, { deletionTimestamp: 'now' }),
      waiting,
    ],
    ['nothing, where it knows of no difference', verification(checking), undefined],
    ...(
      [
        ['the end of a pass, where none has ended', null, 0, waiting],
        [
          'the recheck of what its last pass has found',
          { mismatchCount: 2, longestSeconds: 11 },
          0,
          waiting,
        ],
        [
          'nothing, where the lag explains that',
          { mismatchCount: 2, longestSeconds: 10 },
          0,
          undefined,
        ],
        ['what a long pass under way has found', { ageSeconds: 91 }, 1, waiting],
        ['what was not compared', { isWhole: false }, 0, waiting],
        ['nothing, where its last pass has found none', {}, 0, undefined],
      ] as const
    ).map(([what, given, failedTasks, expected]) => {
      // The current pass has just begun.
      const verificationStatus = { ...counts, addedTasks: 1, failedTasks };
      const lastPass = given && { ...quiet, ...given };
      const verifier = { progress: { phase: 'recheck', lastPass } };
      return [what, verification({ ...checking, verificationStatus, verifier }), expected] as const;
    }),
    [
      'the end of a pass with another tool, which begins with nothing',
      verification({
        ...checking,
        verificationStatus: { ...counts, recheckTasks: 5, processingTasks: 1 },
      }),
      waiting,
    ],
    [
      'nothing with another tool, though something is to be compared again',
      verification({ ...checking, verificationStatus: { ...counts, recheckTasks: 5 } }),
      undefined,
    ],
    [
      'nothing with another tool, when its tasks are done',
      verification({ ...checking, verifier: { progress: { phase: 'check' } } }),
      undefined,
    ],
  ];
  it('is the end of a pass also with an empty list of workloads', () => {
    const verificationStatus = { ...counts, recheckTasks: 5, processingTasks: 1 };
    const given = verification({ ...checking, verificationStatus });
    const commit = { ...spec.commit, workloads: [] };
    const decision = decideIn(
      runningWorld(changes),
      { ...spec, commit },
      { verifications: [given] },
    );
    assert.deepEqual(commandsIn(decision), []);
  });

  for (const [what, given, expected] of cases) {
    it(`is ${what}`, () => {
      const decision = decideIn(runningWorld(changes), spec, {
        verifications: given ? [given] : [],
      });
      assert.deepEqual(commandsIn(decision), expected === undefined ? ['commit old'] : []);
      assert.equal(
        phaseAndReadiness(decision.status),
        expected ?? 'ChangeApplication: False Committing',
      );
    });
  }

  it('is no difference that the lag explains, where it is asked again once writes have stopped', () => {
    const commit = { ...spec.commit, workloads: [web], maxLagSeconds: 10 };
    const stepWith = (lastPass: object, isHeld: boolean) => {
      const verificationStatus = { ...counts, failedTasks: 1 };
      const verifier = { progress: { phase: 'recheck', lastPass } };
      const given = verification({ ...checking, verificationStatus, verifier });
      const held = isHeld ? { hold: holdOf(commit) } : {};
      const world = { ...held, workloads: views(isHeld ? 0 : 3), verifications: [given] };
      const { commit: step, status } = decideIn(runningWorld(changes), { commit }, world);
      return `${step.kind} ${phaseAndReadiness(status)}`;
    };
    const recent = { ...quiet, mismatchCount: 1, longestSeconds: 10 };
    assert.match(stepWith(recent, false), /^record .* StoppingWorkloads/);
    assert.match(stepWith({ ...recent, longestSeconds: 11 }, false), /WaitingForVerification/);
    assert.match(stepWith(recent, true), /WaitingForVerification/);
  });

  it('is the end of a pass with another tool, except where it is asked again', () => {
    const commit = { ...spec.commit, workloads: [web] };
    const record = 'record ChangeApplication: False StoppingWorkloads';
    const held = { hold: holdOf(commit), workloads: views(0) };
    const running = { workloads: views(3) };
    for (const [given, phase, rest, expected] of [
      // That nothing is left proves nothing before something was counted.
      [held, 'recheck', { totalTasks: 0 }, `none ${waiting}`],
      [running, 'check', { addedTasks: 3 }, `none ${waiting}`],
      [running, 'recheck', { processingTasks: 1, recheckTasks: 5 }, record],
    ] as const) {
      const verificationStatus = { ...counts, ...rest };
      const one = verification({
        ...checking,
        verificationStatus,
        verifier: { progress: { phase } },
      });
      const world = { ...given, verifications: [one] };
      const { commit: step, status } = decideIn(runningWorld(changes), { commit }, world);
      assert.equal(`${step.kind} ${phaseAndReadiness(status)}`, expected);
    }
  });

  it('is what ReadyToCommit waits for, where a person commits', () => {
    const toldWith = (status: Partial<SyncVerificationStatus>, isHeard: boolean) => {
      const verifications = [verification({ ...checking, ...status })];
      const world = { verifications, isHeardOf: () => isHeard };
      const { conditions } = decideIn(runningWorld(changes), {}, world).status;
      const condition = findCondition(conditions, 'ReadyToCommit');
      return `${condition?.status} ${condition?.reason}: ${condition?.message}`;
    };
    const doubted = 'False WaitingForVerification: the SyncVerification check';
    const underWay = { verificationStatus: { ...counts, processingTasks: 1 } };
    assert.equal(
      toldWith(underWay, true),
      `${doubted} is in the middle of a pass, and reports no earlier one`,
    );
    const passed = { verifier: { progress: { phase: 'recheck', lastPass: quiet } } };
    assert.match(toldWith(passed, true), /^True Verified/);
    assert.equal(toldWith(passed, false), `${doubted} reports no current progress`);
  });

  it('is an answer to this operator, not only one that is stored', () => {
    const verifier = { progress: { phase: 'recheck', lastPass: quiet } };
    const given = { verifications: [verification({ ...checking, verifier })] };
    const unheard = decideIn(runningWorld(changes), spec, { ...given, isHeardOf: () => false });
    assert.deepEqual([phaseAndReadiness(unheard.status), ...commandsIn(unheard)], [waiting]);
    assert.deepEqual(commandsIn(decideIn(runningWorld(changes), spec, given)), ['commit old']);
  });

  it('is no recent difference of another that does not answer any more, once writes have stopped', () => {
    const commit = { ...spec.commit, workloads: [web], maxLagSeconds: 10 };
    const lastPass = { ...quiet, mismatchCount: 1, longestSeconds: 10 };
    const stepWith = (ready: string) => {
      const status = { ...checking, conditions: conditions(ready) };
      const verifier = { progress: { phase: 'recheck', lastPass } };
      const other = verification({ ...status, verifier }, 'orders', undefined, { name: 'other' });
      const verifications = [verification(checking), other];
      const world = { hold: holdOf(commit), workloads: views(0), verifications };
      return decideIn(runningWorld(changes), { commit }, world).commit.kind;
    };
    assert.equal(stepWith('Checking'), 'none');
    assert.equal(stepWith('VerifierUnreachable'), 'record');
  });

  it('is the last comparison, too, once nothing writes any more', () => {
    const commit = { ...spec.commit, workloads: [web] };
    const held = { hold: holdOf(commit), workloads: views(0) };
    for (const rest of [{ recheckTasks: 1 }, { addedTasks: 1 }, { processingTasks: 1 }]) {
      const given = verification({ ...checking, verificationStatus: { ...counts, ...rest } });
      const { status } = decideIn(
        runningWorld(changes),
        { commit },
        { ...held, verifications: [given] },
      );
      assert.equal(phaseAndReadiness(status), waiting);
    }
    const { commit: step } = decideIn(
      runningWorld(changes),
      { commit },
      { ...held, verifications: [verification(checking)] },
    );
    assert.equal(step.kind, 'record');
  });

  it('is what the verifier knows now, once nothing writes any more', () => {
    const commit = { ...spec.commit, workloads: [web] };
    const stepWith = (ageMs: number, held: Partial<CommitWorld>): string => {
      const asOf = new Date(nowMs - ageMs).toISOString();
      const verifier = { progress: { phase: 'recheck', lastPass: quiet, asOf } };
      const verifications = [verification({ ...checking, verifier })];
      return decideIn(runningWorld(changes), { commit }, { ...held, verifications }).commit.kind;
    };
    const stopped = { hold: holdOf(commit), workloads: views(0) };
    assert.equal(stepWith(14_000, stopped), 'none');
    assert.equal(stepWith(4_000, stopped), 'record', 'a slow store answers so');
    assert.equal(stepWith(14_000, { workloads: views(3) }), 'record', 'an attempt begins');
  });

  it('is a run about this sync: what was found of a former one of the name proves nothing', () => {
    const world = runningWorld(changes);
    const stalled = 'Stalled: False WaitingForVerification';
    const of = (status: SyncVerificationStatus, syncStartedAt?: string) => {
      const { syncStartedAt: _, ...rest } = run;
      const about = { ...rest, ...(syncStartedAt !== undefined && { syncStartedAt }) };
      const given = verification({ ...checking, ...status, run: about });
      const decision = decideIn(world, spec, { verifications: [given] });
      return [phaseAndReadiness(decision.status), ...commandsIn(decision)];
    };
    assert.deepEqual(of(equal, 'before'), [stalled]);
    assert.deepEqual(of(equal), [stalled]);
    assert.deepEqual(of({}, 'before'), [waiting]);
    const committing = ['ChangeApplication: False Committing', 'commit old'];
    assert.deepEqual(of(equal, 'now'), committing);
    assert.deepEqual(of({}, 'now'), committing);
    // Nothing is proven about a sync of which nothing is known.
    const unknown = runningWorld(answers.changes);
    const given = verification({
      ...equal,
      run: { attempt: 1, direction: 'Forward', inputsHash: '' },
    });
    const decision = decideIn(unknown, spec, { verifications: [given] });
    assert.deepEqual([phaseAndReadiness(decision.status), ...commandsIn(decision)], [stalled]);
    const seen = { source: { kind: 'ReplicaSet', shards: ['rs'] }, startedAt: 'now' } as const;
    const known = decideIn(unknown, spec, { verifications: [verification(equal)] }, seen);
    assert.deepEqual(commandsIn(known), ['commit old']);
  });
});
