import type { SyncRow, VerificationSummary } from '../api/sync-view.ts';

/** How something is displayed: always with an icon and words, never by colour alone. */
export interface Look {
  readonly tone: Tone;
  readonly icon: Icon;
  readonly label: string;
}

export type Tone = 'quiet' | 'busy' | 'good' | 'warning' | 'bad';
export type Icon =
  'clock' | 'copy' | 'flow' | 'pause' | 'check' | 'seal' | 'cross' | 'alert' | 'back';

const phases = new Map<string, Look>(
  Object.entries({
    Pending: { tone: 'quiet', icon: 'clock', label: 'Pending' },
    Starting: { tone: 'busy', icon: 'clock', label: 'Starting' },
    DryRun: { tone: 'quiet', icon: 'check', label: 'Dry run' },
    InitialCopy: { tone: 'busy', icon: 'copy', label: 'Initial copy' },
    ChangeApplication: { tone: 'busy', icon: 'flow', label: 'Applying changes' },
    Reversing: { tone: 'busy', icon: 'back', label: 'Reversing' },
    Paused: { tone: 'warning', icon: 'pause', label: 'Paused' },
    Committing: { tone: 'busy', icon: 'seal', label: 'Committing' },
    Committed: { tone: 'good', icon: 'seal', label: 'Committed' },
    Stalled: { tone: 'bad', icon: 'alert', label: 'Stalled' },
  }),
);

/** How the phase of a sync is displayed. */
export function phaseLook({
  phase,
  commitReadiness,
}: Pick<SyncRow, 'phase' | 'commitReadiness'>): Look {
  if (phase === 'ChangeApplication' && commitReadiness.isReady) {
    return { tone: 'good', icon: 'flow', label: 'Ready to commit' };
  }
  return phases.get(phase) ?? { tone: 'quiet', icon: 'clock', label: phase };
}

/** How a verification is displayed. */
export function verificationLook({ phase, verdict, mismatches }: VerificationSummary): Look {
  if (verdict === 'equal') return { tone: 'good', icon: 'check', label: 'Equal' };
  if (verdict === 'different') return { tone: 'bad', icon: 'cross', label: 'Different' };
  if (phase === 'Failed') return { tone: 'bad', icon: 'alert', label: 'Failed' };
  if ((mismatches ?? 0) > 0) return { tone: 'warning', icon: 'alert', label: 'Differences so far' };
  if (phase === 'Checking' || phase === 'Finishing') {
    return { tone: 'busy', icon: 'flow', label: 'Comparing' };
  }
  return { tone: 'quiet', icon: 'clock', label: phase };
}

/** Whether somebody has to act: it is stalled, or a verification has found lasting differences. */
export function needsAttention({ readiness, verifications }: SyncRow): boolean {
  return (
    readiness.kind === 'stalled' ||
    verifications.some(({ phase, verdict }) => verdict === 'different' || phase === 'Failed')
  );
}
