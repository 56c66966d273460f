import type { ClusterSync } from '../api/clustersync.ts';
import { textUntilWindow } from '../commit/window.ts';
import type { ConditionDraft } from '../kube/conditions.ts';
import type { ConditionCause } from '../operand/condition-cause.ts';
import { withObstacles, type Assessment } from './assessment.ts';
import type { SourceFinding } from './source.ts';

/** What decides whether a commit is advisable now. */
export interface CommitSituation extends Pick<
  Assessment,
  'isFresh' | 'canCommit' | 'commitObstacles' | 'lagTimeSeconds'
> {
  readonly clusterSync: ClusterSync;
  readonly finding: SourceFinding;
  /** Why the sync is in no state to be committed: it is copying, for example, or paused, or committed. */
  readonly elsewhere: Pick<ConditionCause, 'reason' | 'message'> | undefined;
  /** What is wrong with the sync. */
  readonly cause: ConditionCause | undefined;
  /** When an automatic commit may begin, if that is still to come. */
  readonly opensAt: string | undefined;
  /** Why no verification shows that the destination has the data of the source. */
  readonly doubt: ConditionCause | undefined;
}

/**
 * Whether a person may commit: every instance would accept a commit, the operator would send it, the lag is small, and a verification
 * of the whole sync has compared everything and knows of no difference that the lag does not explain. Unknown where no one can say.
 * Messages have no figures that change: each change of a message is a change of the status.
 */
export function readyToCommitCondition(situation: CommitSituation): ConditionDraft {
  const { clusterSync, elsewhere, cause, finding, doubt } = situation;
  const { spec, metadata } = clusterSync;
  const no = ({ reason, message }: Pick<ConditionCause, 'reason' | 'message'>) =>
    conditionOf('False', reason, message);
  if (elsewhere) return no(elsewhere);
  if (metadata.deletionTimestamp !== undefined)
    return conditionOf('False', 'Resetting', 'the ClusterSync is being deleted');
  if (spec.suspend)
    return conditionOf('False', 'SuspendedByUser', 'spec.suspend is true: no commit is sent');
  if (cause) return no(cause);
  if (!situation.isFresh)
    return conditionOf('Unknown', 'SyncerUnreachable', 'not every instance has just answered');
  if (!situation.canCommit) {
    const message = withObstacles('not every instance can commit', situation.commitObstacles);
    return conditionOf('False', 'ChangeApplication', message);
  }
  if (!finding.isConfirmed) {
    const message = 'the source has not confirmed yet that its shards are unchanged';
    return conditionOf('False', 'ChangeApplication', message);
  }
  const { maxLagSeconds } = spec.commit;
  const { lagTimeSeconds } = situation;
  if (lagTimeSeconds === undefined)
    return conditionOf('Unknown', 'WaitingForLag', 'the lag is unknown');
  if (lagTimeSeconds > maxLagSeconds) {
    const message = `the lag is more than ${maxLagSeconds} s (spec.commit.maxLagSeconds)`;
    return conditionOf('False', 'WaitingForLag', message);
  }
  if (doubt)
    return conditionOf(
      doubt.reason === 'NotVerified' ? 'Unknown' : 'False',
      doubt.reason,
      doubt.message,
    );
  if (situation.opensAt !== undefined)
    return conditionOf('False', 'WaitingForWindow', textUntilWindow(situation.opensAt));
  return conditionOf(
    'True',
    'Verified',
    `every instance can commit, the lag is at most ${maxLagSeconds} s, and a SyncVerification has compared everything and knows of no difference that the lag does not explain`,
  );
}

function conditionOf(
  status: ConditionDraft['status'],
  reason: string,
  message: string,
): ConditionDraft {
  return { type: 'ReadyToCommit', status, reason, message };
}
