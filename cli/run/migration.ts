import type { CommitReadiness } from '../../dashboard/api/sync-view.ts';
import { messageOf, SyncError } from '../../service/errors.ts';
import { orAborted } from '../../service/or-aborted.ts';
import { sleep } from '../../service/sleep.ts';
import { withoutTimes, type SyncProgress } from '../api/combine.ts';
import { commitOutcome, lacksCommit } from '../api/commit-outcome.ts';
import { PatientReading } from '../api/patient-reading.ts';
import { copyInfo, type CombinedCollections } from '../../sync-api/syncer-answers.ts';
import type { VerificationProgress, VerifierApi } from '../api/verifier-api.ts';
import type { View } from '../render/frame.ts';
import { RateMeter } from '../render/rate-meter.ts';
import type { Screen } from '../terminal/screen.ts';
import type { Instances } from '../api/instances.ts';
import type { RunOptions } from './options.ts';
import { commitReadiness, RemainingDifferences } from './commit-readiness.ts';
import type { Programs } from './programs.ts';

const pollMs = 500;

/** The verifier reads its metadata store for every answer. */
const verifierPollMs = 1_500;

/** What a migration needs. */
export interface MigrationSettings {
  readonly options: Pick<RunOptions, 'verify' | 'maxLagSeconds'>;
  readonly programs: Pick<Programs, 'startVerifier'>;
  readonly instances: Instances;
  readonly screen: Pick<Screen, 'show' | 'step' | 'ask'>;
  /** Receives what the screen shows. */
  readonly page: { readonly show: (view: View) => void } | undefined;
  readonly signal: AbortSignal;
}

/** A running sync and its verification: observed, displayed, and brought to their end. */
export class Migration {
  readonly #settings: MigrationSettings;
  readonly #copied = new RateMeter();
  readonly #events = new RateMeter();
  #sync: SyncProgress;
  #collections: CombinedCollections | undefined;
  #verifier: VerifierApi | undefined;
  #verification: VerificationProgress | undefined;
  #verifierAskedAtMs = -Infinity;
  readonly #remaining: RemainingDifferences;
  #differencesRemain = false;
  #isCommitSent = false;
  /** How many looks have begun. */
  #looks = 0;

  constructor(settings: MigrationSettings, sync: SyncProgress) {
    this.#settings = settings;
    this.#remaining = new RemainingDifferences(settings.options);
    this.#sync = sync;
  }

  get sync(): SyncProgress {
    return this.#sync;
  }

  get verification(): VerificationProgress | undefined {
    return this.#verification;
  }

  /** Whether the verification has found differences that neither the lag nor changes under way explain. */
  get differencesRemain(): boolean {
    return this.#differencesRemain;
  }

  /**
   * Shows the progress until a condition is met.
   * @throws SyncError for lasting errors: the sync has stopped, or the verification cannot continue.
   */
  async follow(isReached: (view: View) => boolean): Promise<void> {
    await this.#followEach((view) => view.warning === undefined && isReached(view));
  }

  /** The same, with each view: also of what has not answered. */
  async #followEach(isReached: (view: View) => boolean): Promise<void> {
    const { screen, page, signal } = this.#settings;
    for (;;) {
      this.#looks += 1;
      const view = await this.#look();
      screen.show(view);
      page?.show(view);
      if (isReached(view)) return;
      await sleep(pollMs, signal);
    }
  }

  /** Asks repeatedly, while the migration runs, until the word is typed while a commit is advisable. */
  async askFor(word: string, question: string): Promise<void> {
    const { screen, signal } = this.#settings;
    const over = new AbortController();
    let typed: { readonly looks: number; readonly judged: () => void } | undefined;
    const ask = async (): Promise<void> => {
      const either = AbortSignal.any([signal, over.signal]);
      for (;;) {
        if ((await screen.ask(question, either)).trim() === word) {
          const { promise, resolve } = Promise.withResolvers<undefined>();
          typed = {
            looks: this.#looks,
            judged: () => {
              resolve(undefined);
            },
          };
          await orAborted(promise, either);
        } else screen.step(`that was not ${word}: nothing done`);
      }
    };
    // Aborted by one of the two: stop asking.
    const asking = ask().catch(() => undefined);
    try {
      // The word counts for a look that began after it, and for no later one: what was seen before may be old by now, and who sees that
      // nothing happens may let applications write again.
      await this.#followEach(({ sync, commitReadiness: readiness, warning }) => {
        if (warning === undefined && commitOutcome(sync) === 'taken') return true;
        if (!typed || typed.looks >= this.#looks) return false;
        if (warning === undefined && readiness?.isReady === true) return true;
        const why = warning ?? readiness?.message ?? 'the state is unknown';
        screen.step(`not yet, nothing done: ${why}`, 'warning');
        typed.judged();
        typed = undefined;
        return false;
      });
    } finally {
      over.abort();
      await asking;
    }
  }

  /** Whether a commit was sent that may be carried out, whatever the answer. */
  get isCommitSent(): boolean {
    return this.#isCommitSent;
  }

  /**
   * Commits, and waits until that is done.
   * @throws SyncError with the reason of a refusal: then it is proven that no instance has accepted the commit.
   */
  async commit(): Promise<void> {
    const { instances, screen, signal } = this.#settings;
    this.#isCommitSent = true;
    let told = '';
    for (;;) {
      try {
        await instances.command('commit', 'RUNNING', this.#sync, signal);
        break;
      } catch (error) {
        signal.throwIfAborted();
        await this.follow(({ sync }) => commitOutcome(sync) !== 'unknown');
        if (commitOutcome(this.#sync) === 'none') {
          this.#isCommitSent = false;
          throw error;
        }
        // Once one has accepted it, the others get it, too.
        if (!lacksCommit(this.#sync)) break;
        const text = `an instance has not accepted the commit yet: ${messageOf(error)}`;
        if (text !== told) screen.step(text, 'warning');
        told = text;
        await sleep(pollMs, signal);
      }
    }
    await this.follow(({ sync }) => sync.state === 'COMMITTED');
  }

  /** Tells the verifier that writes have stopped, and waits for its verdict. */
  async untilVerified(): Promise<void> {
    const { signal } = this.#settings;
    await this.follow(() => this.#verifier !== undefined);
    const telling = new PatientReading(
      async (until) => await this.#verifier?.writesOff(until),
      ({ row }) => row.retryable,
    );
    while ((await telling.next(signal)) instanceof SyncError) await sleep(pollMs, signal);
    await this.follow(({ verification }) => verification?.verdict != null);
  }

  get #readiness(): CommitReadiness {
    return commitReadiness(this.#sync, this.#verification, this.#settings.options);
  }

  async #look(): Promise<View> {
    const { instances, signal, options } = this.#settings;
    const { progress, error: unanswered } = await instances.read(signal);
    const atMs = performance.now();
    if (progress) {
      this.#sync = progress;
      if (progress.copiedBytes !== null) this.#copied.add(progress.copiedBytes, atMs);
      if (progress.eventsApplied !== null) this.#events.add(progress.eventsApplied, atMs);
    }
    const { info } = this.#sync;
    const isCopying = info === copyInfo;
    let warning = unanswered;
    try {
      this.#collections =
        isCopying && progress ? await instances.collections(signal) : this.#collections;
      if (options.verify && !isCopying && info !== null) await this.#verify(atMs);
    } catch (error) {
      if (!(error instanceof SyncError && error.row.retryable)) throw error;
      warning ??= error;
    }
    return {
      commitReadiness: this.#readiness,
      sync: progress ?? withoutTimes(this.#sync),
      collections: isCopying ? this.#collections : undefined,
      verification: this.#verification,
      copyBytesPerSecond: this.#copied.perSecond,
      eventsPerSecond: this.#events.perSecond,
      warning: warning?.message,
    };
  }

  async #verify(atMs: number): Promise<void> {
    const { programs, screen, signal } = this.#settings;
    if (!this.#verifier) {
      // Each sync has its own verification, even if the destination holds one of an earlier sync.
      const attempt = Date.parse(this.#sync.startedAt ?? '');
      if (Number.isNaN(attempt)) throw new SyncError('InternalError', 'the sync has no start time');
      const verifier = await programs.startVerifier(attempt, signal);
      await verifier.check(signal);
      this.#verifier = verifier;
      screen.step('copy complete; both sides are being compared while changes are applied');
    }
    if (atMs - this.#verifierAskedAtMs < verifierPollMs) return;
    this.#verification = await this.#verifier.progress(signal);
    this.#verifierAskedAtMs = atMs;
    this.#differencesRemain = this.#remaining.remain(this.#sync, this.#verification, atMs);
    const { error } = this.#verification;
    if (error !== null) throw new SyncError('CheckFailed', `the verification: ${error}`);
  }
}
