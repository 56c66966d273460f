import assert from 'node:assert/strict';
import { optionsDigest } from '../../sync-api/options-digest.ts';
import { optionsDigestHeader } from '../../sync-api/headers.ts';
import type { ClusterSyncSpec, ClusterSyncStatus } from '../api/clustersync.ts';
import { findCondition } from '../kube/conditions.ts';
import { decide } from './decide.ts';
import type { Decision } from './decision.ts';
import { isOfOtherSync, wantedDigest } from './identity.ts';
import { startBody } from './resources.ts';
import {
  answers,
  changed,
  clusterSync,
  decideOn,
  manual,
  phaseAndReadiness,
  readyMessage,
  reversed,
  runningWorld,
  shardedWorld,
} from './testing/worlds.ts';

const own = wantedDigest(clusterSync());
const other = wantedDigest(clusterSync({ includeNamespaces: [{ database: 'a' }] }));
const milestones = ['Ready', 'InitialCopyDone', 'CanCommit', 'Committed'];

function statusesOf({ conditions }: ClusterSyncStatus): (string | undefined)[] {
  return milestones.map((type) => findCondition(conditions, type)?.status);
}

describe('a sync that was started with other options than the spec has', () => {
  const { idle: _idle, ...started } = answers;
  const wanted: [string, Partial<ClusterSyncSpec>][] = [
    ['Running', {}],
    ['Paused', { state: 'Paused' }],
    ['Committed', { state: 'Committed' }],
    ['Committed by itself', { commit: { ...manual, mode: 'Automatic' } }],
    ['Reverse', { direction: 'Reverse', reversible: true, enableUserWriteBlocking: true }],
  ];
  const decideFor = (spec: Partial<ClusterSyncSpec>, answer: typeof answers.changes): Decision =>
    decide(clusterSync(spec), runningWorld(changed(answer, { optionsDigest: other })));

  for (const [what, spec] of wanted) {
    for (const [stage, answer] of Object.entries({ ...started, back: reversed(answers.changes) })) {
      it(`is told nothing, and stalls what is to be ${what}: ${stage}`, () => {
        const { commands, status, commit, events } = decideFor(spec, answer);
        assert.deepEqual(commands, []);
        assert.deepEqual(commit, { kind: 'none' });
        assert.equal(phaseAndReadiness(status), 'Stalled: False DifferentSync');
        assert.equal(findCondition(status.conditions, 'Stalled')?.reason, 'DifferentSync');
        assert.deepEqual(statusesOf(status), ['False', 'False', 'False', 'False']);
        assert.match(readyMessage(status), /options that it was started with.*spec\.startOver/);
        assert.equal(status.canCommit, false);
        for (const field of [
          'totals',
          'lagTimeSeconds',
          'canWrite',
          'startedAt',
          'committedAt',
        ] as const)
          assert.equal(status[field], undefined, field);
        assert.equal(status.instances?.[0]?.progress?.['optionsDigest'], other);
        assert.deepEqual(
          events.map(({ reason }) => reason),
          ['DifferentSync'],
        );
      });
    }
  }

  it('stalls it also while the instance does not answer any more', () => {
    const { status } = decideFor({}, answers.changes);
    const later = decide(clusterSync({ state: 'Committed' }, status), runningWorld(undefined));
    assert.equal(phaseAndReadiness(later.status), 'Stalled: False DifferentSync');
    assert.deepEqual(later.commands, []);
  });

  it('is told nothing where only some instances say that they work on it', () => {
    const { changes, idle } = answers;
    const foreign = changed(changes, { optionsDigest: other });
    const { commands, status } = decideOn(shardedWorld([idle, foreign, idle]));
    assert.deepEqual(commands, []);
    assert.equal(phaseAndReadiness(status), 'Stalled: False DifferentSync');
    assert.match(readyMessage(status), /syncer shard-1\)/);
  });
});

describe('a sync that was started with other options, and has failed', () => {
  const error = { name: 'OplogRolledOver', description: 'too late', isLasting: true };
  const failed = (digest: string) => ({ kind: 'error', error, optionsDigest: digest }) as const;

  it('stalls by that it is another one, and says how it has failed', () => {
    for (const state of ['Running', 'Paused', 'Committed'] as const) {
      const { commands, status } = decide(clusterSync({ state }), runningWorld(failed(other)));
      assert.deepEqual(commands, []);
      assert.equal(phaseAndReadiness(status), 'Stalled: False DifferentSync');
      assert.match(readyMessage(status), /OplogRolledOver: too late/);
      assert.match(readyMessage(status), /options that it was started with.*spec\.startOver/);
    }
  });

  it('is not ended with a ClusterSync that is deleted', () => {
    const finalizers = ['clustersync.dev/reset'];
    const { metadata, ...rest } = clusterSync({ onDelete: 'Clean' });
    const deleted = { ...metadata, finalizers, deletionTimestamp: '2026-01-01T12:00:00Z' };
    for (const [digest, isEnded] of [
      [other, true],
      [own, false],
    ] as const) {
      const decision = decide({ ...rest, metadata: deleted }, runningWorld(failed(digest)));
      assert.equal(decision.isEnded, isEnded);
    }
  });

  it('is ended by startOver', () => {
    const spec = { startOver: { token: 'again', destination: 'Keep' } } as const;
    const begun = decide(clusterSync(spec), runningWorld(failed(other)));
    assert.equal(begun.status.startOver?.state, 'Resetting');
    assert.deepEqual(
      begun.commands.map(({ command }) => [command.name, command.headers]),
      [['reset', {}]],
    );
  });

  it('is stalled by its own failure where it has the options of the spec, or does not tell', () => {
    for (const answer of [failed(own), { kind: 'error', error } as const]) {
      const { status } = decide(clusterSync(), runningWorld(answer));
      assert.equal(phaseAndReadiness(status), 'Stalled: False OplogRolledOver');
    }
  });
});

describe('a sync that was started with the options of the spec', () => {
  it('is taken up, and each command says which sync it is for', () => {
    const cases: [object, typeof answers.changes, string][] = [
      [{}, answers.idle, 'start'],
      [{ state: 'Paused' }, answers.changes, 'pause'],
      [{}, answers.paused, 'resume'],
      [{ state: 'Committed' }, answers.changes, 'commit'],
    ];
    for (const [spec, answer, name] of cases) {
      const optionsDigestOf = answer === answers.idle ? null : own;
      const world = runningWorld(changed(answer, { optionsDigest: optionsDigestOf }));
      const [sent, ...more] = decide(clusterSync(spec), world).commands;
      assert.deepEqual(more, []);
      assert.equal(sent?.command.name, name);
      assert.deepEqual(sent.command.headers, { [optionsDigestHeader]: own });
    }
    assert.equal(own, optionsDigest(startBody(clusterSync())));
  });

  it('is not told from another one by what an instance without a sync says', () => {
    const { idle, changes } = answers;
    const foreign = { optionsDigest: other };
    for (const [answer, isOther] of [
      [changed(idle, foreign), false],
      [changed(changes, foreign), true],
    ] as const) {
      assert.equal(answer.kind, 'progress');
      assert.equal(isOfOtherSync(answer.progress, own), isOther);
    }
  });

  it('counts as before where the tool does not tell its options', () => {
    const { status, commands } = decide(
      clusterSync({ state: 'Committed' }),
      runningWorld(answers.changes),
    );
    assert.equal(commands[0]?.command.name, 'commit');
    assert.equal(findCondition(status.conditions, 'CanCommit')?.status, 'True');
  });
});
