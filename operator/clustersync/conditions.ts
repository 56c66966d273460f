import type { ClusterSync } from '../api/clustersync.ts';
import type { ConditionDraft } from '../kube/conditions.ts';
import type { Trouble } from '../operand/trouble.ts';
import { isAtLeast, type Stage } from './stage.ts';

/** What the conditions of a ClusterSync are made from. */
export interface Situation {
  readonly clusterSync: ClusterSync;
  readonly stage: Stage;
  readonly trouble: Trouble | undefined;
  readonly canCommit: boolean;
  /** Whether every instance has just reported its progress. */
  readonly isFresh: boolean;
}

/** The conditions of a ClusterSync: those of kstatus, and its milestones. */
export function conditionsOf(situation: Situation): ConditionDraft[] {
  const { clusterSync, stage, trouble, canCommit, isFresh } = situation;
  const outlook = outlookOf(situation);
  const { reason, message } = outlook;
  const kstatus: ConditionDraft[] = [
    { type: 'Ready', status: outlook.kind === 'ready' ? 'True' : 'False', reason, message },
  ];
  if (outlook.kind === 'reconciling') {
    kstatus.push({ type: 'Reconciling', status: 'True', reason, message });
  }
  if (outlook.kind === 'stalled') {
    kstatus.push({ type: 'Stalled', status: 'True', reason, message });
  }
  return [
    ...kstatus,
    milestone('InitialCopyDone', isAtLeast(stage, 'changes'), progressReasons[stage]),
    stage === 'changes' && !isFresh
      ? { type: 'CanCommit', status: 'Unknown', reason, message: trouble?.message ?? message }
      : milestone('CanCommit', canCommit, progressReasons[stage]),
    milestone('Committed', stage === 'committed', progressReasons[stage]),
    ...(clusterSync.spec.suspend ? [suspended] : []),
  ];
}

const suspended: ConditionDraft = {
  type: 'Suspended',
  status: 'True',
  reason: 'SuspendedByUser',
  message: 'spec.suspend is true: the operator changes nothing; the sync goes on',
};

const progressReasons: Record<Stage, { readonly reason: string; readonly message: string }> = {
  unknown: { reason: 'Starting', message: 'the syncer has not answered yet' },
  idle: { reason: 'Starting', message: 'the sync has not been started yet' },
  copy: { reason: 'InitialCopy', message: 'the initial copy goes on' },
  changes: { reason: 'ChangeApplication', message: 'changes of the source are being applied' },
  committing: { reason: 'Committing', message: 'the commit is being carried out' },
  committed: { reason: 'Committed', message: 'the sync is committed' },
};

function milestone(
  type: string,
  isReached: boolean,
  { reason, message }: { readonly reason: string; readonly message: string },
): ConditionDraft {
  return { type, status: isReached ? 'True' : 'False', reason, message };
}

type Outlook = Pick<Trouble, 'reason' | 'message'> & {
  readonly kind: 'ready' | 'reconciling' | 'stalled';
};

function outlookOf({ clusterSync, stage, trouble, canCommit }: Situation): Outlook {
  const { state, suspend } = clusterSync.spec;
  const here = progressReasons[stage];
  if (stage === 'committed') return { kind: 'ready', ...here };
  if (trouble?.level === 'stalled') return { ...trouble, kind: 'stalled' };
  if (state === 'Paused') return { kind: 'stalled', ...pauseNotSupported(stage) };
  if (trouble) return { ...trouble, kind: 'reconciling' };
  if (state === 'Running' && stage === 'changes') {
    return { kind: 'ready', reason: 'InSync', message: here.message };
  }
  if (suspend && stage === 'idle') {
    return { kind: 'reconciling', reason: 'Suspended', message: suspended.message };
  }
  if (state === 'Committed' && stage === 'changes') {
    return canCommit
      ? { kind: 'reconciling', reason: 'Committing', message: 'the commit is being sent' }
      : {
          kind: 'reconciling',
          reason: 'WaitingForCanCommit',
          message: 'the commit is sent as soon as every instance can commit',
        };
  }
  return { kind: 'reconciling', ...here };
}

function pauseNotSupported(stage: Stage): { reason: string; message: string } {
  const now = isAtLeast(stage, 'copy') ? 'the sync goes on' : 'the sync is not started';
  return {
    reason: 'PauseNotSupported',
    message: `this version cannot pause a sync: ${now}; set spec.state to Running`,
  };
}
