import type { Cell } from '../../e2e/ground/reflowing-terminal.ts';

/** What a terminal showed from a moment on. */
export interface Frame {
  readonly atMs: number;
  readonly rows: readonly (readonly Cell[])[];
}

/** The largest size of a picture of README.md: it is loaded by everyone who opens the page. */
export const maxPictureBytes = 150_000;

/** The part of a terminal that is drawn. */
export interface TerminalSize {
  readonly columns: number;
  readonly rows: number;
}

const cellWidth = 7.4;
const cellHeight = 17;
const padding = 12;

/** A longer pause is shortened to this. */
const longestPauseMs = 1_500;
const lastFrameMs = 8_000;

/** Classes of text by the parameters of SGR that clustersync writes (cli/render/style.ts). */
const classes: Readonly<Record<string, string>> = {
  '': 'p',
  '1': 's',
  '2': 'f',
  '31': 'b',
  '32': 'g',
  '33': 'w',
};

const style = `
  text { font: 12px ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', 'Liberation Mono', monospace; white-space: pre }
  .screen { fill: #f6f8fa; stroke: #d1d9e0 }
  .p { fill: #1f2328 } .s { fill: #1f2328; font-weight: 600 } .f { fill: #59636e }
  .b { fill: #cf222e } .g { fill: #116329 } .w { fill: #7d4e00 }
  @media (prefers-color-scheme: dark) {
    .screen { fill: #151b23; stroke: #3d444d }
    .p { fill: #e6edf3 } .s { fill: #ffffff } .f { fill: #9198a1 }
    .b { fill: #ff7b72 } .g { fill: #56d364 } .w { fill: #e3b341 }
  }`;

/**
 * A recording as an animated SVG that runs no script: its frames are a film strip, moved by CSS. It shows the last frame where
 * nothing may move. Each row is stored once, however many frames show it.
 * @param frames - at least one, in their order.
 * @throws for a look that has no class here.
 */
export function drawRecording(frames: readonly Frame[], { columns, rows }: TerminalSize): string {
  const height = rows * cellHeight;
  const width = columns * cellWidth;
  const stored = new Map<string, string>();
  const strip = frames.map((frame, index) => {
    const shown = frame.rows.slice(-rows).map((row, y) => {
      const drawn = drawRow(row);
      if (drawn === '') return '';
      const id = stored.get(drawn) ?? `r${stored.size}`;
      stored.set(drawn, id);
      return `<use href="#${id}" y="${y * cellHeight}"/>`;
    });
    return `<g transform="translate(0 ${index * height})">${shown.join('')}</g>`;
  });
  const moments = momentsOf(frames);
  const steps = moments.starts.map(
    (ms, index) =>
      `${rounded((ms / moments.endMs) * 100)}% { transform: translateY(-${index * height}px) }`,
  );
  const last = `transform: translateY(-${(frames.length - 1) * height}px)`;
  const outerWidth = Math.ceil(width + 2 * padding);
  const outerHeight = height + 2 * padding;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${outerWidth} ${outerHeight}" width="${outerWidth}" height="${outerHeight}" xml:space="preserve"><style>${style}
  .film { ${last}; animation: film ${rounded(moments.endMs / 1000)}s step-end infinite }
  @media (prefers-reduced-motion: reduce) { .film { animation: none } }
  @keyframes film {
  ${steps.join('\n  ')}
  }
</style>
<rect class="screen" x="0.5" y="0.5" width="${outerWidth - 1}" height="${outerHeight - 1}" rx="6"/>
<defs>
${[...stored].map(([drawn, id]) => `<g id="${id}">${drawn}</g>`).join('\n')}
</defs>
<svg x="${padding}" y="${padding}" width="${rounded(width)}" height="${height}"><g class="film">
${strip.join('\n')}
</g></svg>
</svg>
`;
}

/** The frames at least so far apart: of those that follow sooner, the last one is shown instead of the first. */
export function thinned(frames: readonly Frame[], leastMs: number): Frame[] {
  const kept: Frame[] = [];
  for (const frame of frames) {
    const before = kept.at(-1);
    if (before && frame.atMs - before.atMs < leastMs)
      kept[kept.length - 1] = { ...frame, atMs: before.atMs };
    else kept.push(frame);
  }
  return kept;
}

/** When each frame begins in the recording, and when the last one ends. */
function momentsOf(frames: readonly Frame[]): {
  readonly starts: readonly number[];
  readonly endMs: number;
} {
  let ms = 0;
  let before: number | undefined;
  const starts = frames.map(({ atMs }) => {
    ms += Math.min(longestPauseMs, atMs - (before ?? atMs));
    before = atMs;
    return ms;
  });
  return { starts, endMs: ms + lastFrameMs };
}

/** The texts of a row, each of one look and without gaps, at its column and as wide as its characters in any font. */
function drawRow(cells: readonly Cell[]): string {
  const texts: { text: string; readonly look: string; readonly column: number }[] = [];
  let gap = 2;
  for (const [column, { character, look }] of cells.entries()) {
    const current = texts.at(-1);
    if (character === ' ') {
      gap++;
      continue;
    }
    if (current?.look === look && gap <= 1) current.text += `${' '.repeat(gap)}${character}`;
    else texts.push({ text: character, look, column });
    gap = 0;
  }
  return texts
    .map(({ text, look, column }) => {
      const name = classes[look];
      if (name === undefined) throw new Error(`unknown look of text: ${look}`);
      const length = rounded(text.length * cellWidth);
      return `<text class="${name}" x="${rounded(column * cellWidth)}" y="13" textLength="${length}">${escaped(text)}</text>`;
    })
    .join('');
}

function rounded(value: number): string {
  return String(Math.round(value * 100) / 100);
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
