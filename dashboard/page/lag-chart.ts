import { h, type ComponentChild } from 'preact';
import { useState } from 'preact/hooks';
import { durationText } from '../../service/quantities.ts';
import type { SyncReport } from '../api/messages.ts';
import { nearest } from '../view/chart.ts';
import { docsAddress } from '../view/help.ts';
import { lagDrawingOf, lagLabel, lagNote, situationOf } from '../view/lag-and-oplog.ts';
import { axisTime } from '../view/times.ts';
import { chartFrame } from './chart-frame.ts';
import { card, empty, helpLink } from './small-parts.ts';

const title = 'Lag and oplog';

/** How far a sync is behind, and how long the oplog still holds what it needs, on one axis: where the lines cross, time runs out. */
export function LagChart({ row, history, page }: SyncReport): ComponentChild {
  const [pointed, setPointed] = useState<number>();
  const points = history.map(([at, , lag, , oplog]) => [at, lag, oplog] as const);
  const drawing = lagDrawingOf(points);
  const point = pointed === undefined ? undefined : nearest(points, pointed);
  const [, lag, oplog] = point ?? [0, row.lagSeconds, row.oplogSeconds];
  const time = drawing && point && ` at ${axisTime(point[0], drawing.to - drawing.from)}`;
  const legend = [key('lag', 'Lag', lag), ' ', key('oplog', 'Oplog lasts', oplog), time];
  if (!drawing) {
    const isUnknown = points.length > 1;
    const why = isUnknown
      ? 'Neither the lag nor the oplog is known now.'
      : 'The chart starts with the first data points.';
    return card(title, legend, empty(why));
  }
  const { from, to, axis } = drawing;
  const note = lagNote(situationOf(row, history), points);
  const frame = {
    label: lagLabel(row, points),
    marks: axis.marks.map((seconds) => ({
      text: durationText(seconds),
      height: axis.heightOf(seconds),
    })),
    ...{ from, to, pointed: point?.[0], onPoint: setPointed },
  };
  return card(
    title,
    legend,
    chartFrame(
      frame,
      h('path', { class: 'chart-crossed', d: drawing.crossed }),
      h('path', { class: 'chart-area', d: drawing.lag.area }),
      h('path', { class: 'chart-line', d: drawing.lag.line }),
      h('path', { class: 'chart-line chart-oplog', d: drawing.oplog.line }),
    ),
    h(
      'p',
      { class: `chart-note ${note.page === undefined ? 'muted' : 'error'}` },
      note.text,
      helpLink(docsAddress(note.page, page.docsUrl)),
    ),
  );
}

/** What a line of the chart looks like, and its value now, or where the pointer is. */
function key(name: 'lag' | 'oplog', label: string, value: number | null): ComponentChild {
  return h(
    'span',
    { class: 'chart-key' },
    h('span', { class: `chart-swatch swatch-${name}`, 'aria-hidden': 'true' }),
    `${label} `,
    h('strong', { class: 'figure' }, value === null ? '–' : durationText(value)),
  );
}
