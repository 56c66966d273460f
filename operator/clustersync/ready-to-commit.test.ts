import assert from 'node:assert/strict';
import type { ClusterSync, ClusterSyncSpec, ClusterSyncStatus } from '../api/clustersync.ts';
import type { SyncVerification } from '../api/sync-verification.ts';
import { findCondition } from '../kube/conditions.ts';
import { nowMs } from '../operand/testing/running-pod.ts';
import { decide } from './decide.ts';
import type { World } from './decision.ts';
import { isUrgent } from './status.ts';
import { verificationsFor } from './verification-gate.ts';
import { automatic, commandsIn, decideIn } from './testing/automatic-commits.ts';
import {
  answers,
  changed,
  clusterSync,
  manual,
  readyMessage,
  runningWorld,
} from './testing/worlds.ts';

const changes = changed(answers.changes, { startedAt: 'now', lagTimeSeconds: 10 });
const commit = { ...manual, maxLagSeconds: 10 };

interface Given {
  readonly name?: string;
  readonly spec?: Partial<SyncVerification['spec']>;
  readonly metadata?: Partial<SyncVerification['metadata']>;
  readonly unresolved?: number | null;
  readonly sync?: string;
}

function verification(given: Given = {}): SyncVerification {
  const { name = 'check', unresolved = 0, sync = 'now' } = given;
  return {
    apiVersion: 'clustersync.dev/v1alpha1',
    kind: 'SyncVerification',
    metadata: { name, namespace: 'shop', ...given.metadata },
    spec: {
      clusterSyncRef: { name: 'orders' },
      comparison: 'Bytes',
      parallelism: 1,
      verifier: { resources: {}, logLevel: 'info' },
      ...given.spec,
    },
    status: {
      phase: 'Checking',
      run: { attempt: 1, direction: 'Forward', inputsHash: '', syncStartedAt: sync },
      conditions: [
        {
          ...{ type: 'Ready', status: 'False', reason: 'Checking' },
          ...{ message: '', lastTransitionTime: 'x' },
        },
      ],
      verifier: { progress: { phase: 'recheck', lastPass: lastPassOf(unresolved) } },
    },
  };
}

function lastPassOf(mismatchCount: number | null): object | null {
  const quiet = { generation: 1, isWhole: true, shortSeconds: 60, ageSeconds: 0 };
  const longestSeconds = (mismatchCount ?? 0) > 0 ? 11 : 0;
  return mismatchCount === null ? null : { ...quiet, longestSeconds, mismatchCount };
}

function statusIn(
  verifications: readonly SyncVerification[],
  spec: Partial<ClusterSyncSpec> = {},
  world: World = runningWorld(changes),
  metadata: Partial<ClusterSync['metadata']> = {},
): ClusterSyncStatus {
  const made = clusterSync({ commit, ...spec });
  const object = { ...made, metadata: { ...made.metadata, ...metadata } };
  return decide(object, { ...world, commit: { ...world.commit, verifications } }).status;
}

function told(...parts: Parameters<typeof statusIn>): string {
  const condition = findCondition(statusIn(...parts).conditions, 'ReadyToCommit');
  return `${condition?.status} ${condition?.reason}: ${condition?.message}`;
}

const filter = { includeNamespaces: [{ database: 'shop' }] };

describe('the condition ReadyToCommit', () => {
  it('is True once a verification of the whole sync knows of no difference', () => {
    assert.equal(
      told([verification()]),
      'True Verified: every instance can commit, the lag is at most 10 s, and a SyncVerification has compared everything and knows of no difference that the lag does not explain',
    );
  });

  const differs =
    'the SyncVerification check has found differences, and rechecks them. If they remain, repair the sync (spec.repair)';
  const cases: readonly (readonly [string, readonly SyncVerification[], string])[] = [
    ['none', [], 'Unknown NotVerified: no SyncVerification compares the data of this sync'],
    [
      'one of another sync',
      [verification({ spec: { clusterSyncRef: { name: 'other' } } })],
      'Unknown NotVerified: no SyncVerification compares the data of this sync',
    ],
    [
      'one that is being deleted',
      [verification({ metadata: { deletionTimestamp: 'now' } })],
      'Unknown NotVerified: no SyncVerification compares the data of this sync',
    ],
    [
      'one of a part',
      [verification({ spec: { filter } })],
      'Unknown NotVerified: no SyncVerification without spec.filter compares the data of this sync',
    ],
    [
      'one that has just begun',
      [verification({ unresolved: null })],
      'False WaitingForVerification: the SyncVerification check has not compared everything once',
    ],
    [
      'one that differs',
      [verification({ unresolved: 3 })],
      `False WaitingForVerification: ${differs}`,
    ],
    [
      'one that differs, and another that does not',
      [verification({ name: 'other' }), verification({ unresolved: 3 })],
      `False WaitingForVerification: ${differs}`,
    ],
    [
      'one of a part that differs, and another that does not',
      [verification({ name: 'other' }), verification({ unresolved: 3, spec: { filter } })],
      `False WaitingForVerification: ${differs}`,
    ],
    [
      'one of a sync before this one',
      [verification({ sync: 'before' })],
      'False WaitingForVerification: the SyncVerification check is not comparing the data yet',
    ],
  ];
  for (const [what, verifications, expected] of cases) {
    it(`follows the verifications: ${what}`, () => {
      assert.equal(told(verifications), expected);
    });
  }

  it('is about the verifications of its own namespace, and the one that its commit waits for', () => {
    const own = verification();
    const others = [
      verification({ metadata: { namespace: 'another' } }),
      verification({ spec: { clusterSyncRef: { name: 'other' } } }),
    ];
    const referenced = verification({
      ...{ name: 'awaited', spec: { clusterSyncRef: { name: 'other' } } },
    });
    const sync = clusterSync({ commit: { ...commit, verificationRef: { name: 'awaited' } } });
    assert.deepEqual(verificationsFor(sync, [...others, own, referenced]), [own, referenced]);
  });

  it('is not kept from it by one that has ended without a verdict', () => {
    const ended = verification({ name: 'ended' });
    const failed = { ...ended, status: { ...ended.status, completedAt: 'now', phase: 'Failed' } };
    assert.match(told([failed as SyncVerification, verification()]), /^True Verified/);
    const different = { ...failed, status: { ...failed.status, verdict: 'Different' } };
    assert.match(
      told([different as SyncVerification, verification()]),
      /^False VerificationFailed/,
    );
  });

  it('remembers differences of a verifier that does not answer any more', () => {
    const silent = verification({ name: 'silent', unresolved: 2 });
    const conditions = (silent.status?.conditions ?? []).map((one) => {
      return { ...one, reason: 'VerifierUnreachable' };
    });
    const gone = { ...silent, status: { ...silent.status, conditions } };
    assert.match(told([gone, verification()]), /^False WaitingFor.* silent has/);
  });

  it('is kept from it by no difference that the lag explains', () => {
    const progress = { phase: 'recheck', lastPass: { ...lastPassOf(1), longestSeconds: 10 } };
    const given = verification();
    const recent = { ...given, status: { ...given.status, verifier: { progress } } };
    assert.match(told([recent]), /^True Verified/);
  });

  it('needs one verification without a doubt, whatever others are about to do', () => {
    const other = verification({ name: 'another', unresolved: null });
    assert.match(told([other, verification()]), /^True Verified/);
  });

  const verified = [verification()];
  const unreachable = { sinceMs: nowMs - 6_000, description: 'refused' };
  const moments: readonly (readonly [
    string,
    Partial<ClusterSyncSpec>,
    World,
    RegExp,
    Partial<ClusterSync['metadata']>?,
  ])[] = [
    [
      'the lag is high',
      {},
      runningWorld(changed(changes, { lagTimeSeconds: 11 })),
      /^False WaitingForLag: the lag is more than 10 s/,
    ],
    [
      'it is being deleted',
      {},
      runningWorld(changes),
      /^False Resetting: the ClusterSync is being deleted/,
      { deletionTimestamp: 'now' },
    ],
    [
      'its lag is unknown',
      {},
      runningWorld(changed(changes, { lagTimeSeconds: null })),
      /^Unknown WaitingForLag: the lag is unknown/,
    ],
    ['it is suspended', { suspend: true }, runningWorld(changes), /^False SuspendedByUser/],
    [
      'the window is still to come',
      { commit: { ...automatic, notBefore: '2999-01-01T00:00:00Z' } },
      runningWorld(changes),
      /^False WaitingForWindow: .* waits until 2999-01-01T00:00:00Z \(spec\.commit\.notBefore\)$/,
    ],
    [
      'the lag is high, and the window still to come',
      { commit: { ...automatic, notBefore: '2999-01-01T00:00:00Z' } },
      runningWorld(changed(changes, { lagTimeSeconds: 11 })),
      /^False WaitingForLag/,
    ],
    [
      'the window is over',
      { commit: { ...automatic, notAfter: '2000-01-01T00:00:00Z' } },
      runningWorld(changes),
      /^False CommitWindowMissed/,
    ],
    ['it is to be paused', { state: 'Paused' }, runningWorld(changes), /^False Pausing/],
    [
      'it is paused',
      {},
      runningWorld(changed(changes, { state: 'PAUSED' })),
      /^False Paused: a paused sync cannot be committed/,
    ],
    ['it is copying', {}, runningWorld(answers.copy), /^False InitialCopy/],
    [
      'an instance cannot commit',
      {},
      runningWorld(changed(changes, { canCommit: false })),
      /^False ChangeApplication: not every instance can commit/,
    ],
    [
      'it does not answer',
      {},
      runningWorld(changes, { observation: { unreachable } }),
      /^(?:Unknown|False) SyncerUnreachable/,
    ],
    [
      'a commit is under way',
      { state: 'Committed' },
      runningWorld(changed(changes, { canCommit: false, commitUnderWay: true })),
      /^False Committing/,
    ],
    [
      'an automatic commit is about to be sent',
      { commit: { ...automatic, maxLagSeconds: 10 } },
      runningWorld(changes),
      /^False Committing/,
    ],
  ];
  for (const [when, spec, world, expected, metadata] of moments) {
    it(`is not True while ${when}`, () => {
      assert.match(told(verified, spec, world, metadata), expected);
    });
  }

  it('is written with the figures: it may change every few seconds', () => {
    const ready = statusIn(verified);
    const notReady = statusIn([verification({ unresolved: 1 })]);
    assert.notDeepEqual(ready, notReady);
    assert.equal(isUrgent(notReady, ready), false);
    const otherwise = statusIn([verification({ unresolved: null })]);
    assert.notDeepEqual(notReady, otherwise);
    assert.equal(isUrgent(notReady, otherwise), false);
    assert.equal(isUrgent(statusIn(verified, {}, runningWorld(answers.copy)), ready), true);
  });

  it('is written at once where it is True no more', () => {
    const ready = statusIn(verified);
    for (const next of [statusIn([verification({ unresolved: 1 })]), statusIn([])])
      assert.equal(isUrgent(ready, next), true);
    assert.equal(isUrgent(ready, { ...ready, lagTimeSeconds: 9 }), false);
  });
});

describe('an automatic commit', () => {
  const awaited = { ...automatic, maxLagSeconds: 10, verificationRef: { name: 'check' } };
  const alone = { ...automatic, maxLagSeconds: 10 };
  const different = verification({ name: 'other' });
  const ended = {
    ...different,
    status: { ...different.status, phase: 'Failed', verdict: 'Different', completedAt: 'x' },
  } as SyncVerification;

  function outcome(
    verifications: readonly SyncVerification[],
    options: ClusterSyncSpec['commit'],
  ): string {
    const { status, ...decision } = decideIn(
      runningWorld(changes),
      { commit: options },
      { verifications },
    );
    const { reason } = findCondition(status.conditions, 'Ready') ?? {};
    const [command = 'nothing'] = commandsIn({ status, ...decision });
    return command === 'commit old' ? command : `${reason}: ${readyMessage(status)}`;
  }

  const differing =
    'WaitingForVerification: the SyncVerification other has found differences, and rechecks them: the commit waits for it. If they remain, repair the sync (spec.repair)';
  const part =
    'WaitingForVerification: the SyncVerification check has spec.filter, so it compares only a part: the operator does not commit. Name one of the whole sync in spec.commit.verificationRef';
  const cases: readonly (readonly [
    string,
    readonly SyncVerification[],
    ClusterSyncSpec['commit'],
    string,
  ])[] = [
    ['is sent where its verification knows of none', [verification()], awaited, 'commit old'],
    ['is not sent for a part', [verification({ spec: { filter } })], awaited, part],
    [
      'is not sent for a part, whatever another proves',
      [verification({ spec: { filter } }), verification({ name: 'other' })],
      awaited,
      part,
    ],
    [
      'is not sent while another knows of differences',
      [verification(), verification({ name: 'other', unresolved: 3 })],
      awaited,
      differing,
    ],
    [
      'is not sent while another of a part does',
      [verification(), verification({ name: 'other', unresolved: 3, spec: { filter } })],
      awaited,
      differing,
    ],
    [
      'is not sent where another has ended with differences, which is graver',
      [verification({ unresolved: 3 }), ended],
      awaited,
      'VerificationFailed: the SyncVerification other has found differences: the operator does not commit. Start another run (spec.rerun)',
    ],
    [
      'waits for no verification, but is not sent against one',
      [verification({ name: 'other', unresolved: 3 })],
      alone,
      differing,
    ],
    ['waits for none where it names none', [], alone, 'commit old'],
    [
      'does not wait for others',
      [verification(), verification({ name: 'other', unresolved: null })],
      awaited,
      'commit old',
    ],
    [
      'does not ask one that is being deleted',
      [
        verification(),
        verification({ name: 'other', unresolved: 3, metadata: { deletionTimestamp: 'now' } }),
      ],
      awaited,
      'commit old',
    ],
    [
      'does not ask one of another sync',
      [
        verification(),
        verification({
          ...{ name: 'other', unresolved: 3 },
          spec: { clusterSyncRef: { name: 'another' } },
        }),
      ],
      awaited,
      'commit old',
    ],
  ];
  for (const [what, verifications, options, expected] of cases) {
    it(what, () => {
      assert.equal(outcome(verifications, options), expected);
    });
  }

  it('is never sent for a verification while ReadyToCommit says no', () => {
    const kinds = (name: string) => [
      ...[0, 3, null].flatMap((unresolved) => [
        verification({ name, unresolved }),
        verification({ name, unresolved, spec: { filter } }),
      ]),
      verification({ name, sync: 'before' }),
      verification({ name, metadata: { deletionTimestamp: 'now' } }),
    ];
    const sent = kinds('check').flatMap((one) =>
      [[one], ...kinds('other').map((other) => [one, other])].filter(
        (both) => outcome(both, awaited) === 'commit old',
      ),
    );
    assert.ok(sent.length > 1);
    for (const verifications of sent) assert.match(told(verifications), /^True Verified/);
  });
});
