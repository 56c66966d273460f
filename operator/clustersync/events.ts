import type { ClusterSyncStatus } from '../api/clustersync.ts';
import { isConditionTrue } from '../kube/conditions.ts';
import type { EventDraft } from '../kube/event-recorder.ts';
import { wasUsedBefore } from './reset.ts';
import { warningEvents } from '../operand/warning-event.ts';

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
  const { startOver } = next;
  if (startOver && startOver.token !== former?.startOver?.token && startOver.state !== 'Done') {
    if (startOver.state === 'Resetting')
      normal('StartingOver', 'Reset', 'the sync is being ended, to start over');
    else
      events.push({
        ...{ type: 'Warning', reason: 'StartOverRefused', action: 'Reset' },
        note: wasUsedBefore(startOver.token, former)
          ? 'spec.startOver is ignored: the token was used before; set a new one'
          : 'spec.startOver is ignored: the sync is committed, and its destination is in use',
      });
  }
  if (startOver?.state === 'Done' && !isSame(startOver, former?.startOver)) {
    normal('StartedOver', 'Reset', 'the sync has ended, and starts over from scratch');
  }
  events.push(...warningEvents(former, next, warningReasons));
  return events;
}

function isSame(
  one: NonNullable<ClusterSyncStatus['startOver']>,
  other: ClusterSyncStatus['startOver'],
): boolean {
  return one.token === other?.token && one.state === other.state;
}

/** See {@link warningEvents}. */
const warningReasons = [
  'DestinationInUse',
  'CommitUnknown',
  'SyncerUnreachable',
  'ClusterUnreachable',
];
