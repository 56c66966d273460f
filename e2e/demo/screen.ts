const plainIntervalMs = 2_000;
const clearLine = '\r\u001b[2K';
const clearLineAbove = '\u001b[1A\u001b[2K';

/** The output of the demo: steps that stay, and below them live lines, which are redrawn if the output is a terminal. */
export class Screen {
  readonly #out: NodeJS.WriteStream;
  readonly #startedAtMs = performance.now();
  #liveLines = 0;
  #plainAtMs = -Infinity;
  #plainKey = '';

  constructor(out: NodeJS.WriteStream) {
    this.#out = out;
  }

  /** Seconds since the start. */
  get seconds(): number {
    return (performance.now() - this.#startedAtMs) / 1000;
  }

  /** Prints a step that is done or begins, with the time. */
  step(text: string): void {
    this.print(`${this.#bold(`[${this.seconds.toFixed(1).padStart(6)} s]`)} ${text}`);
  }

  /** Prints text that stays. */
  print(text: string): void {
    this.#out.write(`${this.#clear()}${text}\n`);
  }

  /**
   * Redraws the live lines. Without a terminal they are printed every two seconds, and immediately when `key` changes.
   */
  live(lines: readonly string[], key: string): void {
    if (this.#out.isTTY) {
      const shown = lines.map((line) => line.slice(0, this.#out.columns - 1));
      this.#out.write(`${this.#clear()}${shown.join('\n')}`);
      this.#liveLines = shown.length;
      return;
    }
    const nowMs = performance.now();
    if (key === this.#plainKey && nowMs - this.#plainAtMs < plainIntervalMs) return;
    this.#plainKey = key;
    this.#plainAtMs = nowMs;
    this.step(lines.join('\n'));
  }

  /** The escape sequence that erases the live lines. */
  #clear(): string {
    const lines = this.#liveLines;
    this.#liveLines = 0;
    return lines === 0 ? '' : `${clearLine}${clearLineAbove.repeat(lines - 1)}`;
  }

  #bold(text: string): string {
    return this.#out.isTTY ? `\u001b[1m${text}\u001b[0m` : text;
  }
}
