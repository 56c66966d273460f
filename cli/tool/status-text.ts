import type { SyncProgress } from '../api/combine.ts';
import { fieldLines } from '../render/formats.ts';
import { reconciliationText } from '../render/frame.ts';
import { bytesText, countText, durationText, percentText } from '../../service/quantities.ts';
import { harmless } from '../../service/harmless.ts';
import { heldBackText } from '../../dashboard/view/held-back.ts';

/** The state of a sync, for people. */
export function statusText(sync: SyncProgress): string {
  const { state, info, totalBytes, copiedBytes, lagSeconds, eventsApplied, indexes } = sync;
  if (state === 'IDLE') return 'state  IDLE: no sync has been started\n';
  const copied =
    copiedBytes === null || totalBytes === null
      ? undefined
      : `${bytesText(copiedBytes)} of ${bytesText(totalBytes)}, ${percentText(totalBytes === 0 ? 1 : copiedBytes / totalBytes)}`;
  return [
    fieldLines({
      state: info === null ? state : `${state}: ${info}`,
      source: sync.source ?? undefined,
      destination: sync.destination ?? undefined,
      started: sync.startedAt ?? undefined,
      'can commit': sync.canCommit ? 'yes' : 'no',
      commit: commitText(sync),
      'can write': sync.canWrite === null ? undefined : sync.canWrite ? 'yes' : 'not yet',
      lag: lagSeconds === null ? undefined : durationText(lagSeconds),
      copied,
      compared: sync.reconciliation ? reconciliationText(sync.reconciliation) : undefined,
      limits: sync.heldBack ? harmless(heldBackText(sync.heldBack)) : undefined,
      indexes: indexes ? `${countText(indexes.built)} of ${countText(indexes.total)}` : undefined,
      changes: eventsApplied === null ? undefined : `${countText(eventsApplied)} applied`,
      'oplog lasts': sync.oplogSeconds === null ? undefined : durationText(sync.oplogSeconds),
    }),
    ...instanceLines(sync),
    ...sync.warnings.map((warning) => `warning: ${harmless(warning)}\n`),
  ].join('');
}

/** For a commit that is still being sent; once accepted, it shows in the state. */
function commitText({ state, commitUnderWay }: SyncProgress): string | undefined {
  if (state !== 'RUNNING' || commitUnderWay !== true) return undefined;
  return 'under way';
}

function instanceLines({ instances, coordinatorId }: SyncProgress): string[] {
  if (instances.length < 2) return [];
  return [
    'instances\n',
    ...instances.map((one, index) => {
      const { syncerID, state, estimatedCopiedBytes = 0, lagTimeSeconds } = one;
      const name = syncerID ?? `number ${index + 1}`;
      const lag = lagTimeSeconds === undefined ? '' : `, lag ${durationText(lagTimeSeconds)}`;
      const role = syncerID !== undefined && syncerID === coordinatorId ? ' (coordinates)' : '';
      return `  ${harmless(name)}${role}: ${harmless(state)}, ${bytesText(estimatedCopiedBytes)} copied${lag}\n`;
    }),
  ];
}

/** The state of a sync, for programs: combined, and the answer of each instance. */
export function statusValue(sync: SyncProgress): object {
  const { instances, ...all } = sync;
  return { ...all, instances: instances.map(({ raw }) => raw) };
}
