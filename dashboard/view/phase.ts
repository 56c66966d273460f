import type { ConditionView, SyncRow, VerificationSummary } from '../api/sync-view.ts';
import { shownVerification } from './shown-verification.ts';

/** How something is displayed: always with an icon and words, never only by colour. */
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
  verifications,
}: Pick<SyncRow, 'phase' | 'commitReadiness' | 'verifications'>): Look {
  const doubt = phase === 'Committed' ? commitDoubt(verifications) : undefined;
  if (doubt) return { ...doubt.look, label: `Committed, ${doubt.after}` };
  if (phase === 'ChangeApplication' && commitReadiness.isReady) {
    return { tone: 'good', icon: 'flow', label: 'Ready to commit' };
  }
  return phases.get(phase) ?? { tone: 'quiet', icon: 'clock', label: phase };
}

/** What casts doubt on a commit: by the label of a verification, the words for it. */
const doubts = new Map(
  Object.entries({
    Different: { after: 'different', note: 'the data differs' },
    Failed: { after: 'verification failed', note: 'a verification has failed' },
    Stalled: { after: 'verification stalled', note: 'a verification is stalled' },
    'Differences so far': {
      after: 'differences so far',
      note: 'a verification has found differences so far',
    },
  }),
);

/** Why it is not certain, or not true, that the destination has everything after a commit; undefined if nothing says so. */
export function commitDoubt(
  verifications: readonly VerificationSummary[],
): { readonly look: Look; readonly after: string; readonly note: string } | undefined {
  const shown = shownVerification(verifications);
  const look = shown && verificationLook(shown);
  const words = look && doubts.get(look.label);
  return words && { look, ...words };
}

/** How a verification is displayed. */
export function verificationLook({
  phase,
  verdict,
  mismatches,
  isPart,
  isStalled,
}: VerificationSummary): Look {
  if (verdict === 'equal' && isPart) return { tone: 'quiet', icon: 'check', label: 'Equal (part)' };
  if (verdict === 'equal') return { tone: 'good', icon: 'check', label: 'Equal' };
  if (verdict === 'different') return { tone: 'bad', icon: 'cross', label: 'Different' };
  // The sync was reversed or started over since: the verdict is of other data.
  if (phase === 'Succeeded') return { tone: 'quiet', icon: 'clock', label: 'Outdated' };
  if (phase === 'Failed') return { tone: 'bad', icon: 'alert', label: 'Failed' };
  if (isStalled) return { tone: 'bad', icon: 'alert', label: 'Stalled' };
  if ((mismatches ?? 0) > 0) return { tone: 'warning', icon: 'alert', label: 'Differences so far' };
  if (phase === 'Checking' || phase === 'Finishing') {
    return { tone: 'busy', icon: 'flow', label: 'Comparing' };
  }
  return { tone: 'quiet', icon: 'clock', label: phase };
}

/** Conditions that do not look good when they are true, or need attention when they are false. */
const conditionLooks = new Map<string, Omit<Look, 'label'>>(
  Object.entries({
    'Ready False': { tone: 'warning', icon: 'cross' },
    'CanStart False': { tone: 'warning', icon: 'cross' },
    'Reconciling True': { tone: 'busy', icon: 'flow' },
    'SecretProblem True': { tone: 'warning', icon: 'alert' },
    'Stalled True': { tone: 'bad', icon: 'alert' },
    'Suspended True': { tone: 'warning', icon: 'pause' },
  }),
);

/**
 * How a condition is displayed.
 * @param all - of the same resource: a resource that makes progress is not ready yet, and needs no attention.
 */
export function conditionLook(
  { type, status }: Pick<ConditionView, 'type' | 'status'>,
  all: readonly Pick<ConditionView, 'type' | 'status'>[],
): Omit<Look, 'label'> {
  const isReconciling = all.some((one) => one.type === 'Reconciling' && one.status === 'True');
  const look = conditionLooks.get(`${type} ${status}`);
  if (look && !(type === 'Ready' && isReconciling)) return look;
  return status === 'True' ? { tone: 'good', icon: 'check' } : { tone: 'quiet', icon: 'clock' };
}

/** The phases after the copy: a tool need not say how much is copied. */
const afterCopy = ['Reversing', 'ChangeApplication', 'Committing', 'Committed'];

/** Whether the initial copy is not complete yet. */
export function isCopying({ phase, percent }: Pick<SyncRow, 'phase' | 'percent'>): boolean {
  return !afterCopy.includes(phase) && (percent === null || percent < 100);
}

/** Whether somebody has to act, or to look: it or a verification is stalled, it warns, or a verification has failed or has found lasting differences. */
export function needsAttention({ readiness, verifications }: SyncRow): boolean {
  return (
    ['stalled', 'warning'].includes(readiness.kind) ||
    verifications.some(
      ({ phase, verdict, isStalled }) => verdict === 'different' || phase === 'Failed' || isStalled,
    )
  );
}
