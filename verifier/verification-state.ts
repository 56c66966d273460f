import type { Namespace } from '../mongo/namespace.ts';
import type { SyncError } from '../service/errors.ts';
import {
  mismatchView,
  type DocumentDifference,
  type MetadataDifference,
  type MismatchView,
} from './compare/mismatch.ts';
import { emptyStatus, type GenerationStatus } from './generation/generation-status.ts';
import type { GenerationKind } from './generation/plan-tasks.ts';
import type { VerifierMonitor } from './monitor.ts';

/** `idle` before the check and when it is complete, `check` in the first pass, `recheck` in all others. */
export type Phase = 'idle' | 'check' | 'recheck';

/** The outcome of a complete verification. */
export type Verdict = 'equal' | 'different';

/** How many differences are shown. */
const maxShown = 20;

/** How far a verification is, as progress shows it. */
export class VerificationState {
  readonly #monitor: VerifierMonitor;
  phase: Phase = 'idle';
  verdict: Verdict | null = null;
  /** Why it cannot go on. */
  error: SyncError | null = null;
  /** 0 is the first pass. */
  generation = 0;
  status: GenerationStatus = emptyStatus();
  /** What waits for the next pass. */
  pendingCount: () => number = () => 0;
  /** The first differences of the current pass. */
  mismatches: MismatchView[] = [];
  mismatchCount = 0;
  #hasBegun = false;

  constructor(monitor: VerifierMonitor) {
    this.#monitor = monitor;
  }

  /** Begins a pass: its counters start afresh. */
  begin(kind: GenerationKind): void {
    this.generation = this.#hasBegun ? this.generation + 1 : 0;
    this.#hasBegun = true;
    this.phase = kind === 'first' ? 'check' : 'recheck';
    this.status = emptyStatus();
    this.mismatches = [];
    this.mismatchCount = 0;
    this.#monitor.generation = this.generation;
    this.#monitor.mismatches = 0;
  }

  report(namespace: Namespace, difference: DocumentDifference | MetadataDifference): void {
    if (this.mismatches.length < maxShown) {
      this.mismatches.push(mismatchView(namespace, difference));
    }
    this.mismatchCount += 1;
    this.#monitor.mismatches = this.mismatchCount;
  }

  /** Ends the verification: the last pass decides. */
  finish(): Verdict {
    this.verdict = this.status.failedTasks === 0 ? 'equal' : 'different';
    this.phase = 'idle';
    return this.verdict;
  }
}
