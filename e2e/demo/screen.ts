const plainIntervalMs = 2_000;
const clearLine = '\r\u001b[2K';

/** What the demo prints: steps that stay, and one line that is drawn again and again where there is a terminal. */
export class Screen {
  readonly #out: NodeJS.WriteStream;
  readonly #startedAtMs = performance.now();
  #hasLiveLine = false;
  #plainAtMs = -Infinity;
  #plainKey = '';

  constructor(out: NodeJS.WriteStream) {
    this.#out = out;
  }

  /** Seconds since the beginning. */
  get seconds(): number {
    return (performance.now() - this.#startedAtMs) / 1000;
  }

  /** A step that is done or begins, with the time. */
  step(text: string): void {
    this.print(`${this.#bold(`[${this.seconds.toFixed(1).padStart(6)} s]`)} ${text}`);
  }

  /** Text that stays. */
  print(text: string): void {
    this.#out.write(`${this.#hasLiveLine ? clearLine : ''}${text}\n`);
    this.#hasLiveLine = false;
  }

  /**
   * The line that is drawn again. Without a terminal it is printed every two seconds, and at once when `key` is new.
   */
  live(text: string, key: string): void {
    if (this.#out.isTTY) {
      this.#out.write(`${clearLine}${text.slice(0, this.#out.columns - 1)}`);
      this.#hasLiveLine = true;
      return;
    }
    const nowMs = performance.now();
    if (key === this.#plainKey && nowMs - this.#plainAtMs < plainIntervalMs) return;
    this.#plainKey = key;
    this.#plainAtMs = nowMs;
    this.step(text);
  }

  #bold(text: string): string {
    return this.#out.isTTY ? `\u001b[1m${text}\u001b[0m` : text;
  }
}
