import { isDeepStrictEqual } from 'node:util';
import type { ClusterSyncStatus } from '../api/clustersync.ts';
import { findCondition, isConditionTrue, type Condition } from '../kube/conditions.ts';
import type { EventDraft } from '../kube/event-recorder.ts';
import { secretProblemEvents, secretsChangedEvents, warningEvents } from '../operand/warnings.ts';
import { wasUsedBefore } from './used-tokens.ts';

/** Only changes become events. */
export function eventsOf(
  former: ClusterSyncStatus | undefined,
  next: ClusterSyncStatus,
): Omit<EventDraft, 'regarding'>[] {
  const events: Omit<EventDraft, 'regarding'>[] = [];
  const normal = (reason: string, action: string, note: string): void => {
    events.push({ type: 'Normal', reason, action, note });
  };
  if (next.startedAt !== undefined && former?.startedAt === undefined) {
    normal('Started', 'Start', 'the sync has started');
  }
  const isNew = (type: string): boolean =>
    isConditionTrue(next.conditions, type) && !isConditionTrue(former?.conditions, type);
  if (isNew('InitialCopyDone')) {
    normal('InitialCopyDone', 'Copy', 'the initial copy is done; changes are being applied');
  }
  if (next.phase === 'Paused' && former?.phase !== 'Paused' && next.startedAt !== undefined) {
    normal('Paused', 'Pause', "the sync is paused; the source's oplog must cover the pause");
  }
  if (next.phase === 'Reversing' && former?.phase !== 'Reversing') {
    normal('Reversing', 'Reverse', 'the sync is being reversed');
  }
  if (former?.direction !== undefined && next.direction !== former.direction) {
    const way = next.direction === 'Reverse' ? 'from destination to source' : 'forward again';
    normal('Reversed', 'Reverse', `the sync now runs ${way}; nothing is copied again`);
  }
  if (next.commit?.workloads && !former?.commit?.workloads) {
    normal('StoppingWorkloads', 'Scale', 'workloads are scaled to zero for the commit');
  }
  if (former?.commit?.workloads && !next.commit?.workloads) {
    normal('WorkloadsReleased', 'Scale', 'the workloads are no longer held at zero');
  }
  if (next.phase === 'Committing' && former?.phase !== 'Committing') {
    normal('Committing', 'Commit', 'the commit is being carried out');
  }
  if (isNew('Committed')) {
    normal(
      'Committed',
      'Commit',
      'the sync is committed; applications may write to the destination',
    );
  }
  events.push(...secretsChangedEvents(former, next), ...secretProblemEvents(former, next));
  const ignored = ignoredDryRun(next);
  if (ignored && !ignoredDryRun(former)) normal('DryRunIgnored', 'Check', ignored.message);
  const { startOver } = next;
  if (startOver && startOver.token !== former?.startOver?.token && startOver.state !== 'Done') {
    if (startOver.state === 'Resetting')
      normal('StartingOver', 'Reset', 'the sync is being ended, to start over');
    else
      events.push({
        ...{ type: 'Warning', reason: 'StartOverRefused', action: 'Reset' },
        note: wasUsedBefore(startOver.token, former?.startOver)
          ? 'spec.startOver is ignored: the token was used before; set a new one'
          : 'spec.startOver is ignored: the sync is committed, and its destination is in use',
      });
  }
  if (startOver?.state === 'Done' && !isSame(startOver, former?.startOver)) {
    normal('StartedOver', 'Reset', 'the sync has ended, and starts over from scratch');
  }
  events.push(...repairEvents(former?.repair, next.repair));
  const checked = checkEvent(former, next);
  const warnings = warningEvents(former, next, warningReasons);
  // The condition of a dry run says the same.
  events.push(...checked, ...warnings.filter(({ note }) => note !== checked[0]?.note));
  return events;
}

function repairEvents(
  former: ClusterSyncStatus['repair'],
  next: ClusterSyncStatus['repair'],
): Omit<EventDraft, 'regarding'>[] {
  if (!next || (next.token === former?.token && next.state === former.state)) return [];
  const action = 'Repair';
  switch (next.state) {
    case 'Requested':
    case 'NotNeeded':
      return [];
    case 'Begun': {
      const note = 'the sync is being repaired: it starts over, and copies only what differs';
      return [{ type: 'Normal', reason: 'Repairing', action, note }];
    }
    case 'Refused': {
      const note = wasUsedBefore(next.token, former)
        ? 'spec.repair is ignored: the token was used before; set a new one'
        : 'spec.repair is ignored: the sync is committed, and its destination is in use';
      return [{ type: 'Warning', reason: 'RepairRefused', action, note }];
    }
  }
}

function isSame(
  one: NonNullable<ClusterSyncStatus['startOver']>,
  other: ClusterSyncStatus['startOver'],
): boolean {
  return one.token === other?.token && one.state === other.state;
}

/** That a dry run is asked for of a sync that has begun. */
function ignoredDryRun(status: ClusterSyncStatus | undefined): Condition | undefined {
  const condition = findCondition(status?.conditions, 'CanStart');
  if (status?.startedAt === undefined || condition?.reason !== 'AlreadyStarted') return undefined;
  return condition;
}

/** One for each check that has ended. */
function checkEvent(
  former: ClusterSyncStatus | undefined,
  { canStart, preflightCheck, conditions }: ClusterSyncStatus,
): Omit<EventDraft, 'regarding'>[] {
  const message = findCondition(conditions, 'CanStart')?.message;
  if (canStart === undefined || !preflightCheck || message === undefined) return [];
  if (isDeepStrictEqual(preflightCheck, former?.preflightCheck)) return [];
  return canStart
    ? [{ type: 'Normal', reason: 'Checked', action: 'Check', note: message }]
    : [{ type: 'Warning', reason: 'StartBlocked', action: 'Check', note: message }];
}

/** See {@link warningEvents}. */
export const warningReasons: readonly string[] = [
  'DestinationInUse',
  'CommitUnknown',
  'SyncerUnreachable',
  'ClusterUnreachable',
];
