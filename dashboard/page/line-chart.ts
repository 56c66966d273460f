import { h, type ComponentChild } from 'preact';
import { useState } from 'preact/hooks';
import { durationText } from '../../service/quantities.ts';
import { drawingOf, nearest, roundUp, type ChartPoint } from '../view/chart.ts';
import { card, empty } from './small-parts.ts';

interface LineChartProps {
  readonly title: string;
  readonly points: readonly ChartPoint[];
  readonly format: (value: number) => string;
  /** The value at the top; if null, a round value above all others. */
  readonly ceiling: number | null;
  /** Follows the newest value. */
  readonly summary: string | null;
}

/** The history of a figure. Shows the value at the pointer. */
export function LineChart({
  title,
  points,
  format,
  ceiling,
  summary,
}: LineChartProps): ComponentChild {
  const [pointed, setPointed] = useState<number>();
  const known = points.filter(([, value]) => value !== null);
  const largest = Math.max(1, ...known.map(([, value]) => value ?? 0));
  const drawing = drawingOf(points, ceiling === null ? roundUp(largest) : Math.max(1, ceiling));
  const newest = known.at(-1)?.[1];
  const newestText = newest == null ? undefined : format(newest);
  if (!drawing || newestText === undefined) {
    return card(title, newestText, empty('The chart starts with the first data points.'));
  }
  const point = pointed === undefined ? undefined : nearest(points, pointed);
  const aside =
    point === undefined
      ? [h('strong', { class: 'figure' }, newestText), summary !== null && ` ${summary}`]
      : [
          h('strong', { class: 'figure' }, point[1] === null ? '–' : format(point[1])),
          ` at ${new Date(point[0] * 1_000).toLocaleTimeString('en-GB')}`,
        ];
  const { from, to, top } = drawing;
  const label = `${title}: ${newestText} now, at most ${format(largest)} in the last ${durationText(to - from)}`;
  return card(
    title,
    aside,
    h(
      'div',
      { class: 'chart' },
      h(
        'div',
        { class: 'chart-scale', 'aria-hidden': 'true' },
        [top, top / 2, 0].map((value) => h('span', null, format(value))),
      ),
      h(
        'svg',
        {
          ...{ viewBox: '0 0 1 1', preserveAspectRatio: 'none', role: 'img', 'aria-label': label },
          onPointerMove: (event: PointerEvent) => {
            const box = (event.currentTarget as SVGElement).getBoundingClientRect();
            setPointed(from + ((event.clientX - box.left) / box.width) * (to - from));
          },
          onPointerLeave: () => {
            setPointed(undefined);
          },
        },
        [0.002, 0.5, 0.998].map((y) => h('path', { class: 'chart-grid', d: `M0 ${y}H1` })),
        h('path', { class: 'chart-area', d: drawing.area }),
        h('path', { class: 'chart-line', d: drawing.line }),
        point && h('path', { class: 'chart-point', d: `M${(point[0] - from) / (to - from)} 0V1` }),
      ),
      h(
        'div',
        { class: 'chart-times', 'aria-hidden': 'true' },
        h('span', null, `${durationText(to - from)} ago`),
        h('span', null, 'now'),
      ),
    ),
  );
}
