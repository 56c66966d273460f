import type { SyncMonitor } from './monitor.ts';
import type { SyncView } from '../store/records.ts';

type Place = Pick<SyncView, 'state' | 'phase'>;

/**
 * What progress and the metrics show as lag, in seconds; null where there is none to tell, or it is not known: 0 says that
 * both sides are consistent (contract 2.2).
 */
export function lagOf(
  { state, phase }: Place,
  { lagSeconds }: Pick<SyncMonitor, 'lagSeconds'>,
): number | null {
  switch (state) {
    case 'RUNNING':
      // The figures are of the other direction.
      return phase === 'handover' ? null : lagSeconds;
    case 'COMMITTING':
      // Once all is applied that belongs to the commit, the source may write what it likes.
      return phase === 'restoring' || phase === 'done' ? 0 : lagSeconds;
    case 'PAUSED':
      return null;
    case 'COMMITTED':
      return 0;
  }
}

/** Only while changes are being applied is it known how fast that goes. */
export function catchUpOf(
  { state, phase }: Place,
  isWorking: boolean,
  { catchUpSeconds }: Pick<SyncMonitor, 'catchUpSeconds'>,
): number | null {
  return isWorking && phase === 'changes' && state !== 'PAUSED' ? catchUpSeconds : null;
}
