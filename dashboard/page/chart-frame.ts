import { h, type ComponentChild, type ComponentChildren } from 'preact';
import { axisTime } from '../view/times.ts';

interface ChartFrameProps {
  /** The chart in words. */
  readonly label: string;
  /** Values at the axis, and how high each is, from 0 at the bottom to 1 at the top. */
  readonly marks: readonly { readonly text: string; readonly height: number }[];
  readonly from: number;
  readonly to: number;
  /** The time to be marked. */
  readonly pointed: number | undefined;
  /** Gets the time at the pointer; undefined when it is elsewhere. */
  readonly onPoint: (at: number | undefined) => void;
}

/** A chart with its axes around what is drawn, in a square of 1 by 1. */
export function chartFrame(
  { label, marks, from, to, pointed, onPoint }: ChartFrameProps,
  ...drawn: ComponentChildren[]
): ComponentChild {
  return h(
    'div',
    { class: 'chart' },
    h(
      'div',
      { class: 'chart-scale', 'aria-hidden': 'true' },
      marks.map(({ text, height }) => h('span', { style: { bottom: `${height * 100}%` } }, text)),
    ),
    h(
      'svg',
      {
        ...{ viewBox: '0 0 1 1', preserveAspectRatio: 'none', role: 'img', 'aria-label': label },
        onPointerMove: (event: PointerEvent) => {
          const box = (event.currentTarget as SVGElement).getBoundingClientRect();
          onPoint(from + ((event.clientX - box.left) / box.width) * (to - from));
        },
        onPointerLeave: () => {
          onPoint(undefined);
        },
      },
      marks.map(({ height }) =>
        // The outermost lines would be cut in half.
        h('path', {
          class: 'chart-grid',
          d: `M0 ${Math.min(0.998, Math.max(0.002, 1 - height))}H1`,
        }),
      ),
      ...drawn,
      pointed !== undefined &&
        h('path', { class: 'chart-point', d: `M${(pointed - from) / (to - from)} 0V1` }),
    ),
    h(
      'div',
      { class: 'chart-times', 'aria-hidden': 'true' },
      [from, to].map((at) => h('span', null, axisTime(at, to - from))),
    ),
  );
}
