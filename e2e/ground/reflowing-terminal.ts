/** A row of the display. */
interface Row {
  text: string;
  /** Whether the line continues in the next row, because there was no more room. */
  isContinued: boolean;
}

/**
 * What a person sees of what was written to a terminal that wraps its lines again when it is resized, as most do. It knows only what
 * `cli/terminal/screen.ts` draws with, and only characters of one column.
 */
export class ReflowingTerminal {
  #columns: number;
  #rows: Row[] = [{ text: '', isContinued: false }];
  #y = 0;
  #x = 0;

  constructor(columns: number) {
    this.#columns = columns;
  }

  /** The lines, each in one piece. */
  get lines(): string[] {
    return this.#wholeLines().map(({ text }) => text.trimEnd());
  }

  /** Shows what was written. @throws for a control sequence that it does not know. */
  write(text: string): void {
    for (const [piece, count = '', final] of text.matchAll(
      /\u001b\[([\d;]*)([A-Za-z])|\u001b|[^\u001b]/gu,
    )) {
      if (final !== undefined) this.#control(count, final);
      else if (piece === '\r') this.#x = 0;
      else if (piece === '\n') this.#down();
      else if (/^\p{Cc}$/u.test(piece))
        throw new Error(`unknown control: ${JSON.stringify(piece)}`);
      else this.#put(piece);
    }
  }

  /** Wraps all lines again. */
  resize(columns: number): void {
    const lines = this.#wholeLines();
    this.#columns = columns;
    this.#rows = [];
    for (const { text, cursor } of lines) {
      const count = Math.max(1, Math.ceil(text.length / columns));
      if (cursor !== undefined) {
        const row = Math.min(count - 1, Math.floor(cursor / columns));
        this.#y = this.#rows.length + row;
        this.#x = cursor - row * columns;
      }
      for (let row = 0; row < count; row++)
        this.#rows.push({
          text: text.slice(row * columns, (row + 1) * columns),
          isContinued: row < count - 1,
        });
    }
  }

  #wholeLines(): { readonly text: string; readonly cursor: number | undefined }[] {
    const lines: { text: string; cursor: number | undefined }[] = [];
    let isContinued = false;
    for (const [y, row] of this.#rows.entries()) {
      const before = isContinued ? lines.pop() : undefined;
      const text = before?.text ?? '';
      const cursor = y === this.#y ? text.length + this.#x : before?.cursor;
      lines.push({ text: text + row.text, cursor });
      isContinued = row.isContinued;
    }
    return lines;
  }

  #control(count: string, final: string): void {
    switch (`${count}${final}`) {
      case '2K':
        this.#rows[this.#y] = { text: '', isContinued: false };
        break;
      case '1A':
        this.#y = Math.max(0, this.#y - 1);
        break;
      default:
        if (final !== 'm') throw new Error(`unknown control sequence: ${count}${final}`);
    }
  }

  #down(): void {
    this.#y++;
    this.#rows[this.#y] ??= { text: '', isContinued: false };
  }

  #put(character: string): void {
    if (this.#x === this.#columns) {
      this.#at(this.#y).isContinued = true;
      this.#down();
      this.#x = 0;
    }
    const row = this.#at(this.#y);
    const before = row.text.slice(0, this.#x).padEnd(this.#x);
    row.text = `${before}${character}${row.text.slice(this.#x + 1)}`;
    this.#x++;
  }

  #at(y: number): Row {
    return (this.#rows[y] ??= { text: '', isContinued: false });
  }
}
