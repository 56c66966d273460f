import { objectOf, type JsonObject } from '../../service/json-fields.ts';
import { readVerifierCommand } from '../../sync-api/command-answer.ts';
import {
  readMismatches,
  readVerification,
  type ReportedMismatch,
  type ReportedVerification,
} from '../../sync-api/verifier-answers.ts';
import type { ApiClient } from './api-client.ts';

/** The progress of a verification. */
export interface VerificationProgress {
  readonly phase: string;
  readonly verdict: 'equal' | 'different' | null;
  readonly error: string | null;
  /** Number of the pass; 0 is the first. */
  readonly generation: number;
  /** The time that all of this describes, if the verifier does not know the latest state; null if it does. */
  readonly asOf: string | null;
  /** Of the current pass; null while the amount of work is unknown. */
  readonly fraction: number | null;
  readonly secondsLeft: number | null;
  /** Differences found by this pass; until there is a verdict they are compared again. */
  readonly mismatchCount: number;
  /** The first of them, a line each. */
  readonly mismatches: readonly string[];
  /** By all passes together. */
  readonly documentsCompared: number;
  /** The count of each side after all writes; null without the verdict `equal`. */
  readonly documentsCounted: { readonly source: number; readonly destination: number } | null;
  /** How many documents of each side were compared only by hash, as far as it is reported with the verdict `equal`. */
  readonly documentsHashed: number;
  /** What it retries or waits for. Empty while `asOf` says that it does not know the latest. */
  readonly warnings: readonly string[];
  readonly bytesCompared: number;
  /** The verifier's whole report. */
  readonly reported: ReportedVerification;
}

/** The API of a verifier. */
export class VerifierApi {
  readonly #client: ApiClient;

  constructor(client: ApiClient) {
    this.#client = client;
  }

  async progress(signal: AbortSignal): Promise<VerificationProgress> {
    const read = (body: unknown): ReportedVerification | undefined =>
      readVerification(objectOf(body)['progress']);
    return verificationOf(await this.#client.get('progress', read, signal));
  }

  async check(signal: AbortSignal): Promise<void> {
    await this.#give('check', signal);
  }

  async writesOff(signal: AbortSignal): Promise<void> {
    await this.#give('writesOff', signal);
  }

  /** All stored differences of the current pass, as received, page by page. */
  async *mismatches(signal: AbortSignal): AsyncGenerator<JsonObject, void> {
    let after: string | undefined;
    do {
      const query: string = after === undefined ? '' : `&after=${encodeURIComponent(after)}`;
      const page = await this.#client.get(`mismatches?limit=1000${query}`, readMismatches, signal);
      yield* page.mismatches;
      after = page.next;
    } while (after !== undefined);
  }

  async #give(name: 'check' | 'writesOff', signal: AbortSignal): Promise<void> {
    await this.#client.command({ name, body: {}, read: readVerifierCommand }, signal);
  }
}

/** The displayed part of a verifier's report. */
export function verificationOf(reported: ReportedVerification): VerificationProgress {
  const { verdict, generation = 0, generationStats: stats } = reported;
  const { documentsCompared: done, documentsTotal: total } = stats;
  return {
    phase: reported.phase,
    verdict: verdict === 'equal' || verdict === 'different' ? verdict : null,
    error: reported.error ?? null,
    generation,
    asOf: reported.asOf ?? null,
    fraction:
      done === undefined || total === undefined || total === 0 ? null : Math.min(1, done / total),
    secondsLeft: stats.secondsLeft ?? null,
    mismatchCount: reported.mismatchCount ?? 0,
    mismatches: reported.mismatches.map(mismatchLine),
    documentsCompared: reported.documentsCompared ?? 0,
    bytesCompared: reported.bytesCompared ?? 0,
    documentsCounted: reported.documentsCounted ?? null,
    documentsHashed: reported.documentsHashed ?? 0,
    warnings: reported.warnings,
    reported,
  };
}

/** A difference in one line. */
export function mismatchLine(mismatch: ReportedMismatch): string {
  const { namespace, kind, id, index, field, detail, sourceValue, destinationValue } = mismatch;
  const part = (value = '', label = ''): string[] =>
    value === '' ? [] : [label === '' ? value : `${label} ${value}`];
  return [
    ...part(namespace),
    ...part(kind),
    ...part(id, '_id'),
    ...part(index, 'index'),
    ...part(field, 'at'),
    ...part(detail && `(${detail})`),
    ...part(sourceValue, 'source'),
    ...part(destinationValue, 'destination'),
  ].join(' ');
}
