/** Characters without width: combining marks, joiners and directional controls. */
const zeroWidth = /^[\p{Mn}\p{Me}\u200b-\u200f\u2060\ufe00-\ufe0f]$/u;

/** Characters two columns wide: East Asian wide characters and emoji. Source: Unicode's EastAsianWidth.txt, its large blocks. */
const doubleWidth =
  /^[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]$/u;

function columnsOf(character: string): number {
  if (zeroWidth.test(character)) return 0;
  return doubleWidth.test(character) ? 2 : 1;
}

/** The width in columns of a text without control characters. */
export function widthOf(text: string): number {
  let width = 0;
  for (const character of text) width += columnsOf(character);
  return width;
}

/**
 * How many rows a text takes at the beginning of a line, in a terminal of this many columns that wraps lines. The text must not
 * contain control characters.
 */
export function rowsOf(text: string, columns: number): number {
  let rows = 1;
  let used = 0;
  for (const character of text) {
    const width = columnsOf(character);
    // A wide character is not cut in two.
    if (used > 0 && used + width > columns) {
      rows++;
      used = 0;
    }
    used += width;
  }
  return rows;
}

/** A text in at most this many columns; if it is cut, it ends in `…`. */
export function cutTo(text: string, columns: number): string {
  if (widthOf(text) <= columns) return text;
  if (columns < 1) return '';
  let cut = '';
  let width = 0;
  for (const character of text) {
    width += columnsOf(character);
    if (width > columns - 1) break;
    cut += character;
  }
  return `${cut}…`;
}

/** A text in exactly this many columns: cut, or padded with spaces. */
export function fitTo(text: string, columns: number): string {
  const cut = cutTo(text, columns);
  return cut + ' '.repeat(Math.max(0, columns - widthOf(cut)));
}
