/** One bar of a plot. */
export interface Bar {
  readonly label: string;
  readonly value: number;
  /** The label to its right. */
  readonly text: string;
  /** True for this tool, false for what it is compared with. */
  readonly isOurs: boolean;
}

/** Bars on one scale, under a title. */
export interface BarGroup {
  readonly title: string;
  readonly bars: readonly Bar[];
}

const barHeight = 16;
const labelWidth = 220;
const barWidth = 480;

/** Groups of horizontal bars as SVG; each group has its own scale. */
export function barsOf(groups: readonly BarGroup[]): string {
  const parts: string[] = [];
  let y = 0;
  for (const { title, bars } of groups) {
    const longest = Math.max(...bars.map(({ value }) => value));
    y += 24;
    parts.push(`<text x="0" y="${y}" font-weight="bold">${title}</text>`);
    y += 8;
    for (const { label, value, text, isOurs } of bars) {
      const width = Math.max(1, (value / longest) * barWidth).toFixed(0);
      parts.push(
        `<text x="${labelWidth - 8}" y="${y + 12}" text-anchor="end">${label}</text>`,
        `<rect x="${labelWidth}" y="${y}" width="${width}" height="${barHeight - 3}" fill="${isOurs ? '#1f6feb' : '#8b949e'}"/>`,
        `<text x="${labelWidth + Number(width) + 6}" y="${y + 12}">${text}</text>`,
      );
      y += barHeight;
    }
  }
  const width = labelWidth + barWidth + 60;
  const style = 'font-family="sans-serif" font-size="12" fill="#57606a"';
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${y + 12}" ${style}>\n${parts.join('\n')}\n</svg>\n`;
}
