const plainIntervalMs = 2_000;
const clearLine = '\r\u001b[2K';
const clearLineAbove = '\u001b[1A\u001b[2K';

/** What the demo prints: steps that stay, and lines below that are drawn again and again where there is a terminal. */
export class Screen {
  readonly #out: NodeJS.WriteStream;
  readonly #startedAtMs = performance.now();
  #liveLines = 0;
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
    this.#out.write(`${this.#clear()}${text}\n`);
  }

  /**
   * The lines that are drawn again. Without a terminal they are printed every two seconds, and at once when `key` is new.
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

  /** What takes the lines that were drawn last off the terminal. */
  #clear(): string {
    const lines = this.#liveLines;
    this.#liveLines = 0;
    return lines === 0 ? '' : `${clearLine}${clearLineAbove.repeat(lines - 1)}`;
  }

  #bold(text: string): string {
    return this.#out.isTTY ? `\u001b[1m${text}\u001b[0m` : text;
  }
}
