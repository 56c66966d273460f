import { h, type ComponentChild } from 'preact';
import { useState } from 'preact/hooks';
import { durationText } from '../../service/quantities.ts';
import { drawingOf, nearest, roundUp, type ChartPoint } from '../view/chart.ts';
import { axisTime } from '../view/times.ts';
import { chartFrame } from './chart-frame.ts';
import { card, empty } from './small-parts.ts';

interface LineChartProps {
  readonly title: string;
  readonly points: readonly ChartPoint[];
  readonly format: (value: number) => string;
  /** The value now, which the last point is not where points are far apart; null if it is unknown. */
  readonly current: number | null;
  /** Follows the value now. */
  readonly summary: string;
}

/** The history of a figure, under a round value above all of it. Shows the value at the pointer. */
export function LineChart({
  title,
  points,
  format,
  current,
  summary,
}: LineChartProps): ComponentChild {
  const [pointed, setPointed] = useState<number>();
  const known = points.filter(([, value]) => value !== null);
  const largest = Math.max(1, ...known.map(([, value]) => value ?? 0));
  const drawing = drawingOf(points, roundUp(largest));
  const currentText = current === null ? '–' : format(current);
  if (!drawing || known.length === 0) {
    return card(title, currentText, empty('The chart starts with the first data points.'));
  }
  const { from, to, top } = drawing;
  const point = pointed === undefined ? undefined : nearest(points, pointed);
  const aside =
    point === undefined
      ? [h('strong', { class: 'figure' }, currentText), ` ${summary}`]
      : [
          h('strong', { class: 'figure' }, point[1] === null ? '–' : format(point[1])),
          ` at ${axisTime(point[0], to - from)}`,
        ];
  const label = `${title}: ${currentText} now, at most ${format(largest)} in the last ${durationText(to - from)}`;
  return card(
    title,
    aside,
    chartFrame(
      {
        label,
        marks: [1, 0.5, 0].map((height) => ({ text: format(top * height), height })),
        ...{ from, to, pointed: point?.[0], onPoint: setPointed },
      },
      h('path', { class: 'chart-area', d: drawing.area }),
      h('path', { class: 'chart-line', d: drawing.line }),
    ),
  );
}
