import type { MismatchView } from '../compare/mismatch.ts';
import { totalTasks } from '../generation/generation-status.ts';
import type { VerifierMonitor } from '../monitor.ts';
import type { Phase, Verdict, VerificationState } from '../verification-state.ts';

/** The body of GET /api/v1/progress. All counters are those of the current pass and start afresh with each. */
export interface ProgressBody {
  readonly progress: {
    /**
     * `idle` before the check and when it is complete, `check` in the first pass, `recheck` in later ones. A verification
     * that cannot go on keeps the phase in which it failed.
     */
    readonly phase: Phase;
    /** `Name: description` of what keeps the verification from going on. */
    readonly error: string | null;
    readonly verificationStatus: {
      readonly totalTasks: number;
      /** Tasks that wait. */
      readonly addedTasks: number;
      readonly processingTasks: number;
      /** Tasks that found a difference of any kind; once idle with a verdict, 0 means equal. */
      readonly failedTasks: number;
      /** Tasks that found no difference. */
      readonly completedTasks: number;
      /** Those of failedTasks that found a difference in existence, kind, options, indexes or placement of a namespace. */
      readonly metadataMismatchTasks: number;
      /** Documents and namespaces that wait for the next pass. */
      readonly recheckTasks: number;
    };
    /** Null until the verification is complete. */
    readonly verdict: Verdict | null;
    /** Number of the pass; 0 is the first. */
    readonly generation: number;
    /** Number of differences that the pass has found; before there is a verdict they are looked at again. */
    readonly mismatchCount: number;
    /** The first of them. */
    readonly mismatches: readonly MismatchView[];
    readonly documentsCompared: number;
    readonly bytesCompared: number;
  };
}

/** How far a verification is, for the API. */
export function progressBody(state: VerificationState, monitor: VerifierMonitor): ProgressBody {
  const { phase, error, status, verdict, generation, mismatches, mismatchCount } = state;
  const { documentsCompared, bytesCompared } = monitor;
  return {
    progress: {
      phase,
      error: error ? `${error.name}: ${error.message}` : null,
      verificationStatus: {
        totalTasks: totalTasks(status),
        ...status,
        recheckTasks: verdict === null ? state.pendingCount() : 0,
      },
      verdict,
      generation,
      mismatchCount,
      mismatches,
      documentsCompared,
      bytesCompared,
    },
  };
}
