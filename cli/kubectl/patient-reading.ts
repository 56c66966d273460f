import { SyncError } from '../../service/errors.ts';
import type { JsonObject } from '../../service/json-fields.ts';

/** How long every reading may fail before the last failure counts. An API server may take so long to start again. */
export const patienceMs = 60_000;

/** A refusal of the API server lasts (in the words of kubectl 1.35). */
const refusal = /\((NotFound|Forbidden|Unauthorized)\)/;

/** Reads an object again and again, where a reading may fail for a time. */
export class PatientReading {
  readonly #read: (signal: AbortSignal) => Promise<JsonObject>;
  readonly #nowMs: () => number;
  #failingSinceMs: number | undefined;

  constructor(
    read: (signal: AbortSignal) => Promise<JsonObject>,
    nowMs: () => number = () => performance.now(),
  ) {
    this.#read = read;
    this.#nowMs = nowMs;
  }

  /**
   * Reads it once.
   * @returns the object, or why it could not be read: try again later.
   * @throws SyncError KubectlFailed if the API server refuses it, or if no reading has succeeded for a minute; the reason of the signal.
   */
  async next(signal: AbortSignal): Promise<JsonObject | SyncError> {
    try {
      const object = await this.#read(signal);
      this.#failingSinceMs = undefined;
      return object;
    } catch (error) {
      if (!(error instanceof SyncError) || error.name !== 'KubectlFailed') throw error;
      this.#failingSinceMs ??= this.#nowMs();
      const hasTime = this.#nowMs() - this.#failingSinceMs < patienceMs;
      if (!hasTime || refusal.test(error.message)) throw error;
      return error;
    }
  }
}
