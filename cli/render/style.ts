import { harmless } from '../../service/harmless.ts';
import { cutTo, widthOf } from './width.ts';

/** The kind of a part of a line, which determines its look. */
export type Tone = 'plain' | 'strong' | 'faint' | 'good' | 'warning' | 'bad';

/** A part of a line; control sequences are removed when the line is written. */
export interface Segment {
  readonly text: string;
  readonly tone?: Tone;
}

/** One line of a picture. */
export type Line = readonly Segment[];

/** How lines are shown. */
export interface Style {
  readonly hasColours: boolean;
  /** Whether bars are drawn with block characters. */
  readonly hasBlocks: boolean;
}

/** SGR parameters of ECMA-48. */
const codes: Readonly<Record<Tone, string | undefined>> = {
  plain: undefined,
  strong: '1',
  faint: '2',
  good: '32',
  warning: '33',
  bad: '31',
};

/** A line as written, in at most this many columns. */
export function renderLine(line: Line, columns: number, { hasColours }: Style): string {
  let left = columns;
  let text = '';
  for (const { text: raw, tone = 'plain' } of line) {
    const part = harmless(raw);
    const cut = cutTo(part, left);
    left -= widthOf(cut);
    const code = hasColours ? codes[tone] : undefined;
    text += code === undefined || cut === '' ? cut : `\u001b[${code}m${cut}\u001b[0m`;
    if (cut !== part) break;
  }
  return text;
}

/** A bar of this many cells, filled from the left. Full only when all is done. */
export function barText(fraction: number, cells: number, { hasBlocks }: Style): string {
  const share = Math.min(1, Math.max(0, fraction));
  const full = share === 1 ? cells : Math.max(0, Math.min(cells - 1, Math.round(share * cells)));
  const [on, off] = hasBlocks ? ['█', '░'] : ['#', '-'];
  return on.repeat(full) + off.repeat(cells - full);
}
