/** A character, and how it looks: the parameters of SGR (ECMA-48), `32` for green; empty for plain text. */
export interface Cell {
  readonly character: string;
  readonly look: string;
}

const blank: Cell = { character: ' ', look: '' };

/** A row of the display. */
interface Row {
  cells: Cell[];
  /** Whether the line continues in the next row, because there was no more room. */
  isContinued: boolean;
}

/**
 * What a person sees of what was written to a terminal that wraps its lines again when it is resized, as most do. It knows only what
 * `cli/terminal/screen.ts` draws with, and only characters of one column.
 */
export class ReflowingTerminal {
  #columns: number;
  #rows: Row[] = [{ cells: [], isContinued: false }];
  #y = 0;
  #x = 0;
  #look = '';

  constructor(columns: number) {
    this.#columns = columns;
  }

  /** The lines, each in one piece. */
  get lines(): string[] {
    return this.#wholeLines().map(({ cells }) => textOf(cells).trimEnd());
  }

  /** The rows, each with its cells, as far as something was written there. */
  get rows(): readonly (readonly Cell[])[] {
    return this.#rows.map(({ cells }) => [...cells]);
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
    for (const { cells, cursor } of lines) {
      const count = Math.max(1, Math.ceil(cells.length / columns));
      if (cursor !== undefined) {
        const row = Math.min(count - 1, Math.floor(cursor / columns));
        this.#y = this.#rows.length + row;
        this.#x = cursor - row * columns;
      }
      for (let row = 0; row < count; row++)
        this.#rows.push({
          cells: cells.slice(row * columns, (row + 1) * columns),
          isContinued: row < count - 1,
        });
    }
  }

  #wholeLines(): { readonly cells: readonly Cell[]; readonly cursor: number | undefined }[] {
    const lines: { cells: Cell[]; cursor: number | undefined }[] = [];
    let isContinued = false;
    for (const [y, row] of this.#rows.entries()) {
      const before = isContinued ? lines.pop() : undefined;
      const cells = before?.cells ?? [];
      const cursor = y === this.#y ? cells.length + this.#x : before?.cursor;
      lines.push({ cells: [...cells, ...row.cells], cursor });
      isContinued = row.isContinued;
    }
    return lines;
  }

  #control(count: string, final: string): void {
    switch (`${count}${final}`) {
      case '2K':
        this.#rows[this.#y] = { cells: [], isContinued: false };
        break;
      case '1A':
        this.#y = Math.max(0, this.#y - 1);
        break;
      default:
        if (final !== 'm') throw new Error(`unknown control sequence: ${count}${final}`);
        this.#look = count === '0' ? '' : count;
    }
  }

  #down(): void {
    this.#y++;
    this.#rows[this.#y] ??= { cells: [], isContinued: false };
  }

  #put(character: string): void {
    if (this.#x === this.#columns) {
      this.#at(this.#y).isContinued = true;
      this.#down();
      this.#x = 0;
    }
    const { cells } = this.#at(this.#y);
    while (cells.length < this.#x) cells.push(blank);
    cells[this.#x] = { character, look: this.#look };
    this.#x++;
  }

  #at(y: number): Row {
    return (this.#rows[y] ??= { cells: [], isContinued: false });
  }
}

function textOf(cells: readonly Cell[]): string {
  return cells.map(({ character }) => character).join('');
}
