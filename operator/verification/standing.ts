import type { ClusterSync } from '../api/clustersync.ts';
import type { SyncVerificationStatus } from '../api/sync-verification.ts';
import { findCondition, isSameCondition, setCondition } from '../kube/conditions.ts';
import type { ConditionDraft } from '../kube/conditions.ts';
import type { EventDraft } from '../kube/event-recorder.ts';
import { isOneSync, syncOnRecord } from '../operand/sync-start.ts';
import type { RunningVerification } from './run.ts';

/** What the standing of a verification depends on. */
interface Surroundings {
  readonly clusterSync: ClusterSync | undefined;
  readonly nowMs: number;
}

const replacedReason = 'SyncReplaced';

/**
 * What a verification with a verdict still says about the data: nothing, once its ClusterSync has another sync, or the same
 * one in the other direction. While the ClusterSync has no sync, nothing changes. The result stays on record as the verdict.
 * @returns undefined if the status already says so.
 */
export function standingOf(
  status: RunningVerification['status'],
  { clusterSync, nowMs }: Surroundings,
): SyncVerificationStatus | undefined {
  const former = findCondition(status.conditions, 'Consistent');
  // Reversed again, or started over twice, it is still not the data that was compared.
  if (status.verdict === undefined || !former || former.reason === replacedReason) return undefined;
  // Without a ClusterSync of that name, the verdict cannot be taken for one about another sync.
  if (!clusterSync) return undefined;
  const found = foundText(former.message);
  const kept = former.observedGeneration;
  const draft: ConditionDraft = {
    type: 'Consistent',
    ...standing(status, clusterSync, found),
    ...(kept !== undefined && { observedGeneration: kept }),
  };
  if (isSameCondition(former, draft)) return undefined;
  return { ...status, conditions: setCondition(status.conditions ?? [], draft, nowMs) };
}

/** The event, sent once, that it no longer describes the data. */
export function eventsOfStanding({
  conditions,
}: SyncVerificationStatus): Omit<EventDraft, 'regarding'>[] {
  const { reason, message = '' } = findCondition(conditions, 'Consistent') ?? {};
  return reason === replacedReason
    ? [{ type: 'Normal', reason, action: 'Check', note: message }]
    : [];
}

function standing(
  { run, verdict }: RunningVerification['status'],
  clusterSync: ClusterSync,
  found: string,
): Pick<ConditionDraft, 'status' | 'reason' | 'message'> {
  const { name } = clusterSync.metadata;
  const sync = syncOnRecord(clusterSync);
  const direction = clusterSync.status?.direction ?? run.direction;
  const isOther =
    sync !== undefined && run.syncStartedAt !== undefined && sync !== run.syncStartedAt;
  if (isOther && !isOneSync(sync, run.syncStartedAt)) {
    const message = `another sync (started ${sync}) has replaced the one that was compared: compare it with another run (spec.rerun). Found before: ${found}`;
    return { status: 'Unknown', reason: replacedReason, message };
  }
  if (isOther || direction !== run.direction) {
    const message = `the sync was reversed since it was compared: compare it with another run (spec.rerun). Found before: ${found}`;
    return { status: 'Unknown', reason: replacedReason, message };
  }
  if (sync === undefined && clusterSync.status?.startedAt === undefined) {
    const message = `the ClusterSync ${name} has no sync that is known to be the one that was compared. Found before: ${found}`;
    return { status: 'Unknown', reason: 'NoSync', message };
  }
  return verdict === 'Equal'
    ? { status: 'True', reason: 'Equal', message: found }
    : { status: 'False', reason: 'Different', message: found };
}

/** The result, as it was first worded. */
function foundText(message: string): string {
  return message.replace(/^.* Found before: /s, '');
}
