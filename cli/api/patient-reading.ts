import { SyncError } from '../../service/errors.ts';

/** How long every reading may fail before the last failure counts. A pod or an API server may take so long to start again. */
export const patienceMs = 60_000;

/** Reads something again and again, where a reading may fail for a time. */
export class PatientReading<T> {
  readonly #read: (signal: AbortSignal) => Promise<T>;
  readonly #isPassing: (error: SyncError) => boolean;
  readonly #nowMs: () => number;
  #failingSinceMs: number | undefined;

  /** @param isPassing - which failures may pass. */
  constructor(
    read: (signal: AbortSignal) => Promise<T>,
    isPassing: (error: SyncError) => boolean,
    nowMs: () => number = () => performance.now(),
  ) {
    this.#read = read;
    this.#isPassing = isPassing;
    this.#nowMs = nowMs;
  }

  /**
   * Reads it once.
   * @returns what was read, or why it could not be read: try again later.
   * @throws SyncError that does not pass, or that of the last reading if none has succeeded for a minute; the reason of the signal.
   */
  async next(signal: AbortSignal): Promise<T | SyncError> {
    try {
      const value = await this.#read(signal);
      this.#failingSinceMs = undefined;
      return value;
    } catch (error) {
      if (!(error instanceof SyncError) || !this.#isPassing(error)) throw error;
      this.#failingSinceMs ??= this.#nowMs();
      if (this.#nowMs() - this.#failingSinceMs >= patienceMs) throw error;
      return error;
    }
  }
}
