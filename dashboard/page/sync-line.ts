import { Component, h, type ComponentChild } from 'preact';
import type { SyncRow } from '../api/sync-view.ts';
import { phaseLook, verificationLook } from '../view/phase.ts';
import { shownVerification } from '../view/shown-verification.ts';
import { copySecondsLeft } from '../view/times.ts';
import { foreignText } from './foreign-text.ts';
import { icon } from './icons.ts';
import { noteOpened } from './list-keys.ts';
import { syncAddress } from './route.ts';
import { bar, bytes, pill, seconds } from './small-parts.ts';

interface SyncLineProps {
  readonly row: SyncRow;
  /** In words. */
  readonly age: string;
}

/** One sync in the list. Redrawn only when it has changed, which matters with hundreds of them. */
export class SyncLine extends Component<SyncLineProps> {
  override shouldComponentUpdate({ row, age }: SyncLineProps): boolean {
    return row !== this.props.row || age !== this.props.age;
  }

  override render({ row, age }: SyncLineProps): ComponentChild {
    const { namespace, name, source, destination, readiness } = row;
    const address = syncAddress(namespace, name);
    return h(
      'li',
      { class: `line readiness-${readiness.kind}` },
      h(
        'a',
        {
          href: address,
          'data-sync': row.key,
          onClick: () => {
            noteOpened(address);
          },
        },
        h(
          'div',
          { class: 'line-name' },
          h('span', { class: 'name' }, name),
          h('span', { class: 'muted' }, namespace),
        ),
        h(
          'div',
          { class: 'line-route muted' },
          h('span', { class: 'cut', title: source }, foreignText(source)),
          h(
            'span',
            { class: 'cut', title: destination },
            icon('arrow'),
            h('span', { class: 'hidden' }, 'to'),
            ' ',
            foreignText(destination),
          ),
        ),
        h('div', { class: 'line-copy' }, copyOf(row)),
        h(
          'div',
          { class: 'line-times' },
          [
            ['lag', 'Lag', row.lagSeconds] as const,
            ['oplog', 'Oplog', row.oplogSeconds] as const,
          ].map(([name, label, value]) =>
            h(
              'div',
              { class: `line-${name}` },
              row.phase !== 'Committed' && [
                h('span', { class: 'small-label' }, label),
                seconds(value),
              ],
            ),
          ),
        ),
        h('div', { class: 'line-verified' }, verifiedOf(row)),
        h('div', { class: 'line-phase' }, pill(phaseLook(row))),
        h(
          'div',
          { class: 'line-age' },
          row.createdAt !== null &&
            h('time', { dateTime: row.createdAt, title: row.createdAt, class: 'figure' }, age),
        ),
        ['stalled', 'warning'].includes(readiness.kind) &&
          h(
            'div',
            { class: 'line-cause' },
            h('strong', null, foreignText(readiness.reason)),
            ': ',
            foreignText(readiness.message),
          ),
      ),
    );
  }
}

function verifiedOf({ verifications }: SyncRow): ComponentChild {
  const verification = shownVerification(verifications);
  if (!verification) return h('span', { class: 'unknown' }, 'not verified');
  const look = verificationLook(verification);
  return h(
    'span',
    { class: `plain tone-${look.tone}`, title: `Verification ${verification.name}` },
    icon(look.icon),
    foreignText(look.label),
  );
}

function copyOf(row: SyncRow): readonly (ComponentChild | false)[] {
  const { percent, totalBytes, copiedBytes, phase } = row;
  if (percent === null) return [h('span', { class: 'unknown' }, 'not begun')];
  if (percent >= 100) {
    return [
      h('span', { class: 'copied' }, bytes(totalBytes), h('span', { class: 'muted' }, ' copied')),
    ];
  }
  const left = copySecondsLeft(row);
  return [
    bar(percent, `Copied of ${row.name}`, phase === 'Stalled' ? 'bad' : 'busy'),
    h(
      'span',
      { class: 'copy-figures' },
      h('span', { class: 'figure' }, `${percent} %`),
      h('span', { class: 'muted' }, bytes(copiedBytes), ' of ', bytes(totalBytes)),
      left !== undefined && h('span', { class: 'muted left' }, seconds(left), ' left'),
    ),
  ];
}
