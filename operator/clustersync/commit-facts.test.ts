import assert from 'node:assert/strict';
import { commitSettledMs, type CommitFacts } from '../commit/plan.ts';
import { nowMs } from '../operand/testing/running-pod.ts';
import type { SyncerCommand } from './syncer-client.ts';
import type { CommandState } from '../operand/observation.ts';
import { podState } from '../operand/pod-state.ts';
import { assess } from './assessment.ts';
import { commitFacts, provesNoCommit, type CommitInput } from './commit-facts.ts';
import { automatic, holdOf } from './testing/automatic-commits.ts';
import {
  answers,
  changed,
  clusterSync,
  observationOf,
  reversed,
  runningPod,
} from './testing/worlds.ts';

const saysNone = changed(answers.changes, { commitUnderWay: false });

describe('provesNoCommit', () => {
  const observation = observationOf(saysNone);
  const { askedMs } = observation;

  it('counts an answer alone that was asked for after a request had ended', () => {
    const taken = (endedMs: number): CommandState<SyncerCommand> => ({
      ...{ name: 'commit', kind: 'taken', endedMs },
    });
    for (const [endedMs, expected] of [
      [askedMs - 1, true],
      [askedMs, false],
      [askedMs + 1, false],
    ] as const) {
      const command = taken(endedMs);
      assert.equal(provesNoCommit({ ...observation, command }, -Infinity, nowMs), expected);
    }
  });

  it('counts the end of a commit, though another command was sent since', () => {
    const command = { name: 'limits', kind: 'taken', endedMs: askedMs - 1 } as const;
    const commit = { name: 'commit', kind: 'taken', endedMs: askedMs + 1 } as const;
    const sent = { ...observation, command, formerCommands: [commit] };
    assert.equal(provesNoCommit(sent, -Infinity, nowMs), false);
    assert.equal(provesNoCommit({ ...observation, command }, -Infinity, nowMs), true);
  });

  it('counts no answer of before one was settled that is on record as sent', () => {
    const settledMs = askedMs - commitSettledMs;
    assert.equal(provesNoCommit(observation, settledMs, nowMs), false);
    assert.equal(provesNoCommit(observation, settledMs - 1, nowMs), true);
  });
});

describe('the facts of an automatic commit', () => {
  const sync = clusterSync({ commit: automatic });
  const finding = { source: undefined, cause: undefined, isConfirmed: true };
  const instance = { id: 'old', podName: 'orders-syncer-0' };
  const pod = podState(runningPod(), 'syncer');
  const observation = observationOf(saysNone);
  const untroubled = { blocker: undefined, secretsChangedAt: undefined, secretProblem: undefined };

  function factsOf(parts: Partial<CommitInput>, isWithoutInstance = false): CommitFacts {
    const instances = isWithoutInstance ? [] : [{ instance, pod, observation }];
    const input = { clusterSync: sync, nowMs, finding, instances };
    const assessment = assess({ ...input, ...untroubled });
    return commitFacts(
      {
        ...input,
        assessment,
        isUnclaimed: false,
        isToBeginAgain: false,
        isSyncEnded: false,
        ...parts,
      },
      { hold: holdOf(automatic), workloads: undefined, verifications: [], isHeardOf: () => true },
    );
  }

  it('are that nothing keeps it from being sent, where all is known', () => {
    const { commit, obstacle, isAskedFor } = factsOf({});
    assert.deepEqual(
      { commit, obstacle, isAskedFor },
      {
        ...{ commit: 'none', obstacle: undefined, isAskedFor: true },
      },
    );
  });

  it('are that it is unknown whether one is under way, where no instance is known', () => {
    assert.equal(factsOf({}, true).commit, 'unknown');
  });

  it('are that it waits for the source to be confirmed, and for a lag that is known', () => {
    const { obstacle } = factsOf({ finding: { ...finding, isConfirmed: false } });
    assert.equal(obstacle?.cause?.reason, 'WaitingForCanCommit');
    const input = { clusterSync: sync, nowMs, finding, ...untroubled };
    const instances = [{ instance, pod, observation }];
    const assessment = { ...assess({ ...input, instances }), lagTimeSeconds: undefined };
    const unknown = factsOf({ assessment }).obstacle;
    assert.equal(unknown?.cause?.reason, 'WaitingForLag');
    assert.match(unknown.cause.message, /the lag is unknown/);
  });

  it('are that none is asked for while the sync is being ended', () => {
    assert.equal(factsOf({ isToBeginAgain: true }).isAskedFor, false);
  });

  it('are that it is carried out once users may write, by the word of any instance in the direction of the hold', () => {
    const { committing, committed, changes } = answers;
    const canWrite = changed(committing, { canWrite: true });
    const cases = [
      [[committing], false],
      [[canWrite], true],
      [[committed], true],
      [[committing, canWrite], true],
      [[changes, committed], true],
      [[reversed(committed)], false],
      [[reversed(committed), committing], false],
      [[changed(changes, { canWrite: true })], false],
    ] as const;
    for (const [said, expected] of cases) {
      const instances = said.map((answer) => ({
        instance,
        pod,
        observation: observationOf(answer),
      }));
      for (const direction of ['Forward', 'Reverse'] as const) {
        const clusterSync = { ...sync, spec: { ...sync.spec, direction } };
        const input = { clusterSync, nowMs, finding, instances };
        const assessment = assess({ ...input, ...untroubled });
        assert.equal(factsOf({ ...input, assessment }).isCarriedOut, expected);
      }
    }
  });
});
