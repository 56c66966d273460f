import assert from 'node:assert/strict';
import { secondTime } from '../kube/micro-time.ts';
import type { Observation } from '../operand/observation.ts';
import { nowMs } from '../operand/testing/running-pod.ts';
import { outcomeOf } from './outcome.ts';
import { readProgress, type VerifierCommand, type VerifierProgress } from './verifier-client.ts';

/** How a tool without a verdict has ended. @param askedMs - when it was asked for this progress. */
function outcome(fields: object, askedMs: number, writesOffMs: number): string | undefined {
  const progress = readProgress({ phase: 'idle', error: null, ...fields });
  assert.ok(progress);
  const observation: Observation<VerifierProgress, VerifierCommand> = {
    process: 'pod',
    answer: { kind: 'progress', progress },
    ...{ askedMs, unreachable: undefined, command: undefined },
  };
  const told = {
    checkSentAt: secondTime(nowMs - 60_000),
    writesOffSentAt: secondTime(writesOffMs),
  };
  return outcomeOf({ observation, nowMs }, told)?.kind;
}

describe('the outcome of a verification by a tool that has no verdict', () => {
  const counts = { totalTasks: 4, failedTasks: 1, metadataMismatchTasks: 0 };
  const failed = { verificationStatus: counts };

  it('is what its tasks have found, once it is idle after the end of writes', () => {
    assert.equal(outcome(failed, nowMs, nowMs - 10_000), 'different');
    const none = { verificationStatus: { ...counts, failedTasks: 0 } };
    assert.equal(outcome(none, nowMs, nowMs - 10_000), 'error');
  });

  it('is open while it compares: what has failed may be compared again', () => {
    for (const phase of ['check', 'recheck'])
      assert.equal(outcome({ ...failed, phase }, nowMs, nowMs - 10_000), undefined);
  });

  it('is open until it was asked after it knew of the end of writes, of which the second is known', () => {
    for (const writesOffMs of [nowMs - 500, nowMs])
      assert.equal(outcome(failed, nowMs - 600, writesOffMs), undefined);
  });
});
