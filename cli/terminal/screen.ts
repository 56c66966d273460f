import { setImmediate } from 'node:timers/promises';
import type { ReadStream } from 'node:tty';
import { durationText } from '../../service/quantities.ts';
import { frameOf, plainLine, type Room, type View } from '../render/frame.ts';
import { renderLine, type Line, type Style, type Tone } from '../render/style.ts';
import { rowsOf } from '../render/width.ts';
import { errorTerminal } from '../../service/terminal.ts';
import { terminalStyle } from './terminal-style.ts';

const plainIntervalMs = 10_000;

/** Moves to the first column, and erases everything from there on: ECMA-48. */
const clearLine = '\r\u001b[2K';
const clearLineAbove = '\u001b[1A\u001b[2K';

/** For a terminal that does not report its size. */
const defaultRoom: Room = { columns: 80, rows: 24 };

/**
 * A command's display of a long operation, on standard error so that piped output stays clean: permanent steps, and below them
 * a picture of the present state, redrawn with every change. Without a terminal the picture is a line now and then.
 */
export class Screen implements Disposable {
  readonly #in = process.stdin;
  readonly #style: Style;
  readonly #startedAtMs = performance.now();
  #view: View | undefined;
  /** The lines that were drawn last, without colours. */
  #drawn: readonly string[] = [];
  readonly #resizing: Disposable;
  #plainAtMs = -Infinity;
  #plainKey = '';
  #prompt: { readonly text: string; typed: string } | undefined;

  constructor() {
    this.#style = terminalStyle(this.#isTerminal, process.env);
    this.#resizing = errorTerminal.onResize(() => {
      this.#redraw();
    });
  }

  /** Whether there is a user to ask. */
  get isInteractive(): boolean {
    return this.#isTerminal && this.hasKeyboard;
  }

  /** Whether somebody may be typing, even if the picture is not shown. */
  get hasKeyboard(): boolean {
    return (this.#in as Partial<ReadStream>).isTTY === true;
  }

  get #isTerminal(): boolean {
    return errorTerminal.isTerminal && process.env['TERM'] !== 'dumb';
  }

  /** Prints a step that is done, or begins. It stays. */
  step(text: string, tone: Tone = 'plain'): void {
    const time = durationText((performance.now() - this.#startedAtMs) / 1000);
    const line: Line = [
      { text: `[${time.padStart(8)}] `, tone: 'faint' },
      { text, tone },
    ];
    this.#redraw(`${renderLine(line, Infinity, this.#style)}\n`);
  }

  /** Shows the present state. */
  show(view: View): void {
    this.#view = view;
    if (this.#isTerminal) {
      this.#redraw();
      return;
    }
    const key = `${view.sync.state} ${view.sync.info ?? ''}`;
    const nowMs = performance.now();
    if (key === this.#plainKey && nowMs - this.#plainAtMs < plainIntervalMs) return;
    this.#plainKey = key;
    this.#plainAtMs = nowMs;
    this.step(plainLine(view, this.#style));
  }

  /**
   * Asks, and waits for a line, while the picture keeps changing. What was typed before is not an answer. Ctrl-C is passed on to this
   * process as SIGINT.
   * @throws the signal's reason when it is aborted.
   */
  async ask(text: string, signal: AbortSignal): Promise<string> {
    signal.throwIfAborted();
    // What is typed comes key by key.
    this.#in.setRawMode(true);
    try {
      await this.#discardTyped();
      return await this.#readLine(text, signal);
    } finally {
      this.#in.setRawMode(false);
    }
  }

  async #discardTyped(): Promise<void> {
    const onData = (chunk: Buffer): void => {
      if (typeInto({ text: '' }, chunk.toString('utf8')).isInterrupted)
        process.kill(process.pid, 'SIGINT');
    };
    this.#in.on('data', onData).resume();
    // What the terminal holds is read when the event loop polls next, which may be after the first of them.
    await setImmediate();
    await setImmediate();
    this.#in.off('data', onData).pause();
  }

  async #readLine(text: string, signal: AbortSignal): Promise<string> {
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const onData = (chunk: Buffer): void => {
      const line = typeInto({ text: this.#prompt?.typed ?? '' }, chunk.toString('utf8'));
      if (this.#prompt) this.#prompt.typed = line.text;
      if (line.isInterrupted) process.kill(process.pid, 'SIGINT');
      const [answer] = line.entered;
      if (answer !== undefined) resolve(answer);
      this.#redraw();
    };
    const onAbort = (): void => {
      reject(signal.reason as Error);
    };
    signal.addEventListener('abort', onAbort, { once: true });
    this.#prompt = { text, typed: '' };
    this.#in.on('data', onData).resume();
    this.#redraw();
    try {
      return await promise;
    } finally {
      signal.removeEventListener('abort', onAbort);
      this.#in.off('data', onData).pause();
      this.#prompt = undefined;
      this.#redraw();
    }
  }

  /** Removes the picture. */
  [Symbol.dispose](): void {
    this.#resizing[Symbol.dispose]();
    this.#view = undefined;
    this.#redraw();
  }

  /** Redraws what is below the steps, in one piece, so that it does not flicker. @param above - text that stays. */
  #redraw(above = ''): void {
    const clear = this.#clear();
    const picture = this.#picture();
    const inStyle = (style: Style): string[] =>
      picture.map((line) => renderLine(line, this.#room.columns, style));
    const text = `${clear}${above}${inStyle(this.#style).join('\n')}`;
    if (text !== '') errorTerminal.draw(text);
    this.#drawn = inStyle({ ...this.#style, hasColours: false });
  }

  /** What the picture may take: the last column stays empty, so that no line is wrapped. */
  get #room(): Room {
    const { columns = defaultRoom.columns, rows = defaultRoom.rows } = errorTerminal;
    return { columns: columns - 1, rows: rows - 2 };
  }

  #picture(): Line[] {
    if (!this.#isTerminal) return [];
    const prompt = this.#prompt;
    const room = { ...this.#room, rows: this.#room.rows - (prompt ? 1 : 0) };
    const lines: Line[] = this.#view ? frameOf(this.#view, room, this.#style) : [];
    if (prompt) lines.push([{ text: `${prompt.text} `, tone: 'strong' }, { text: prompt.typed }]);
    return lines;
  }

  /** Erases what was drawn last. The terminal may have become narrower since, and have wrapped the lines. */
  #clear(): string {
    const { columns = defaultRoom.columns } = errorTerminal;
    const rows = this.#drawn.reduce((sum, line) => sum + rowsOf(line, columns), 0);
    return rows === 0 ? '' : `${clearLine}${clearLineAbove.repeat(rows - 1)}`;
  }
}

/** A line that is being typed. */
export interface TypedLine {
  readonly text: string;
  /** Lines completed with Enter, since the last call. */
  readonly entered: readonly string[];
  readonly isInterrupted: boolean;
}

const maxLength = 80;

/** A line after more keys: characters, Backspace, Ctrl-U, Enter, Ctrl-C; other keys do nothing. */
export function typeInto(line: Pick<TypedLine, 'text'>, keys: string): TypedLine {
  let { text } = line;
  const entered: string[] = [];
  let isInterrupted = false;
  // Escape sequences of other keys: CSI and SS3 of ECMA-48.
  for (const key of keys.replaceAll(/\u001b(?:\[[0-?]*[ -/]*[@-~]|O.|)/g, '')) {
    switch (key) {
      case '\r':
      case '\n':
        entered.push(text);
        text = '';
        break;
      case '\u0003':
        isInterrupted = true;
        break;
      case '\u007f':
      case '\b':
        text = Array.from(text).slice(0, -1).join('');
        break;
      case '\u0015':
        text = '';
        break;
      default:
        if (/^\P{Cc}$/u.test(key) && text.length < maxLength) text += key;
    }
  }
  return { text, entered, isInterrupted };
}
