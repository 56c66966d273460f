import { h, type ComponentChild } from 'preact';
import type { Icon } from '../view/phase.ts';

/** Lines in a square of 16, drawn in the colour of the text. */
const paths: Readonly<Record<Icon | OtherIcon, string>> = {
  clock: 'M8 4.5V8l2.5 1.5M14 8A6 6 0 1 1 2 8a6 6 0 0 1 12 0Z',
  copy: 'M8 2v8m0 0 3-3m-3 3L5 7M3 13h10',
  flow: 'M2 5h9m0 0L8.5 2.5M11 5 8.5 7.5M14 11H5m0 0 2.5-2.5M5 11l2.5 2.5',
  pause: 'M6 4v8M10 4v8',
  check: 'm3 8.5 3.2 3.2L13 5',
  seal: 'm5.3 8.2 2 2 3.6-4M14 8A6 6 0 1 1 2 8a6 6 0 0 1 12 0Z',
  cross: 'm4 4 8 8m0-8-8 8',
  alert: 'M8 6v3.2m0 2.2v.1M8 2.2 14.2 13H1.8L8 2.2Z',
  back: 'M6.5 4 3 7.5 6.5 11M3 7.5h6.5a3.5 3.5 0 0 1 0 7H8',
  arrow: 'M3 8h10m0 0L9 4m4 4L9 12',
  left: 'M13 8H3m0 0 4-4M3 8l4 4',
  search: 'M11 11l3 3M12.5 7.2a5.2 5.2 0 1 1-10.5 0 5.2 5.2 0 0 1 10.5 0Z',
  sun: 'M8 1.5v1.3m0 10.4v1.3M1.5 8h1.3m10.4 0h1.3M3.4 3.4l.9.9m7.4 7.4.9.9m0-9.2-.9.9m-7.4 7.4-.9.9M11 8a3 3 0 1 1-6 0 3 3 0 0 1 6 0Z',
  moon: 'M13.5 9.7A6 6 0 0 1 6.3 2.5a6 6 0 1 0 7.2 7.2Z',
};

type OtherIcon = 'arrow' | 'left' | 'search' | 'sun' | 'moon';

/** An icon beside words with the same meaning. */
export function icon(name: Icon | OtherIcon): ComponentChild {
  return h(
    'svg',
    { class: 'icon', viewBox: '0 0 16 16', 'aria-hidden': 'true', focusable: 'false' },
    h('path', { d: paths[name] }),
  );
}
