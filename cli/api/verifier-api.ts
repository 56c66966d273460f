import type { ApiClient } from './api-client.ts';
import { arrayOf, numberOf, objectOf, textOf, type JsonObject } from './json-fields.ts';

/** How far a verification is. */
export interface VerificationProgress {
  readonly phase: string;
  readonly verdict: 'equal' | 'different' | null;
  readonly error: string | null;
  /** Number of the pass; 0 is the first. */
  readonly generation: number;
  /** When all of this was so, where the verifier does not know the latest; null where it does. */
  readonly asOf: string | null;
  /** Everything has been compared once. */
  readonly isFirstPassOver: boolean;
  /** Of the current pass, as far as it is known what there is to do; null where it is not. */
  readonly fraction: number | null;
  readonly secondsLeft: number | null;
  /** Differences that this pass has found; before there is a verdict they are looked at again. */
  readonly mismatchCount: number;
  /** The first of them, a line each. */
  readonly mismatches: readonly string[];
  /** By all passes together. */
  readonly documentsCompared: number;
  /** What each side counts after all writes; null without the verdict `equal`. */
  readonly documentsCounted: { readonly source: number; readonly destination: number } | null;
  readonly bytesCompared: number;
  /** As it was received. */
  readonly raw: JsonObject;
}

/** The API of a verifier. */
export class VerifierApi {
  readonly #client: ApiClient;

  constructor(client: ApiClient) {
    this.#client = client;
  }

  async progress(signal: AbortSignal): Promise<VerificationProgress> {
    return readVerification(await this.#client.get('progress', signal));
  }

  async check(signal: AbortSignal): Promise<void> {
    await this.#client.post('check', {}, signal);
  }

  async writesOff(signal: AbortSignal): Promise<void> {
    await this.#client.post('writesOff', {}, signal);
  }

  /** All differences that are kept of the current pass, as they are received, page after page. */
  async *mismatches(signal: AbortSignal): AsyncGenerator<JsonObject, void> {
    let after: string | null = null;
    do {
      const query: string = after === null ? '' : `&after=${encodeURIComponent(after)}`;
      const page = await this.#client.get(`mismatches?limit=1000${query}`, signal);
      yield* arrayOf(page['mismatches']).map(objectOf);
      after = textOf(page['next']);
    } while (after !== null);
  }
}

/** Reads an answer of GET /progress of a verifier. */
export function readVerification(answer: JsonObject): VerificationProgress {
  const raw = objectOf(answer['progress']);
  const stats = objectOf(raw['generationStats']);
  const tasks = objectOf(raw['verificationStatus']);
  const verdict = raw['verdict'];
  const generation = numberOf(raw['generation']) ?? 0;
  const isPassOver =
    textOf(raw['generationKind']) !== null &&
    tasks['addedTasks'] === 0 &&
    tasks['processingTasks'] === 0;
  const [done, total] = [numberOf(stats['documentsCompared']), numberOf(stats['documentsTotal'])];
  return {
    phase: textOf(raw['phase']) ?? 'idle',
    verdict: verdict === 'equal' || verdict === 'different' ? verdict : null,
    error: textOf(raw['error']),
    generation,
    asOf: textOf(raw['asOf']),
    isFirstPassOver: generation > 0 || isPassOver,
    fraction: done === null || total === null || total === 0 ? null : Math.min(1, done / total),
    secondsLeft: numberOf(stats['secondsLeft']),
    mismatchCount: numberOf(raw['mismatchCount']) ?? 0,
    mismatches: arrayOf(raw['mismatches']).map((one) => mismatchLine(objectOf(one))),
    documentsCompared: numberOf(raw['documentsCompared']) ?? 0,
    bytesCompared: numberOf(raw['bytesCompared']) ?? 0,
    documentsCounted: countedIn(raw['proof']),
    raw,
  };
}

function countedIn(proof: unknown): VerificationProgress['documentsCounted'] {
  const counted = objectOf(objectOf(proof)['documentsCounted']);
  const [source, destination] = [numberOf(counted['source']), numberOf(counted['destination'])];
  return source === null || destination === null ? null : { source, destination };
}

/** A difference in one line. */
export function mismatchLine(mismatch: JsonObject): string {
  const field = (name: string, label = ''): string[] => {
    const value = textOf(mismatch[name]);
    return value === null ? [] : [label === '' ? value : `${label} ${value}`];
  };
  return [
    ...field('namespace'),
    ...field('kind'),
    ...field('id', '_id'),
    ...field('index', 'index'),
    ...field('field', 'at'),
    ...field('detail').map((detail) => `(${detail})`),
    ...field('sourceValue', 'source'),
    ...field('destinationValue', 'destination'),
  ].join(' ');
}
