import { h, type ComponentChild } from 'preact';
import type { InstanceView } from '../api/sync-view.ts';
import { foreignText } from './foreign-text.ts';
import { icon } from './icons.ts';
import { bytes, card, count, empty, seconds, unknown } from './small-parts.ts';

const figureHeads: readonly string[] = ['Copied', 'Lag', 'Changes applied'];

/** The processes of a sync. */
export function instancesCard(instances: readonly InstanceView[]): ComponentChild {
  const ready = instances.filter(({ isReady }) => isReady).length;
  const hasPods = instances.some(({ pod }) => pod !== null);
  const heads = ['Instance', ...(hasPods ? ['Pod'] : []), 'State', ...figureHeads];
  return card(
    'Instances',
    instances.length > 0 && `${ready} of ${instances.length} ready`,
    instances.length === 0
      ? empty('None yet: the number depends on the shards of the source.')
      : h(
          'table',
          { class: 'rows' },
          h(
            'thead',
            null,
            h(
              'tr',
              null,
              heads.map((name) =>
                h(
                  'th',
                  { scope: 'col', class: figureHeads.includes(name) ? 'number' : undefined },
                  name,
                ),
              ),
            ),
          ),
          h(
            'tbody',
            null,
            instances.map((instance) => instanceRows(instance, hasPods)),
          ),
        ),
  );
}

function instanceRows(
  instance: InstanceView,
  hasPods: boolean,
): readonly (ComponentChild | false)[] {
  const { id, pod, isReady, isCoordinator, state, info, error } = instance;
  return [
    h(
      'tr',
      { key: id, class: error === null ? undefined : 'has-error' },
      h(
        'th',
        { scope: 'row' },
        h('span', { class: 'name' }, foreignText(id)),
        isCoordinator && [' ', h('span', { class: 'badge' }, 'coordinator')],
      ),
      hasPods &&
        h(
          'td',
          { 'data-label': 'Pod' },
          h(
            'span',
            { class: `plain tone-${isReady ? 'good' : 'warning'}` },
            icon(isReady ? 'check' : 'clock'),
            isReady ? 'ready' : 'not ready',
          ),
          h('span', { class: 'muted pod' }, foreignText(pod ?? '')),
        ),
      h(
        'td',
        { 'data-label': 'State' },
        h(
          'span',
          null,
          state === null ? unknown() : foreignText(state),
          h('span', { class: 'muted' }, ' ', foreignText(info ?? '')),
        ),
      ),
      h('td', { 'data-label': 'Copied', class: 'number' }, bytes(instance.copiedBytes)),
      h('td', { 'data-label': 'Lag', class: 'number' }, seconds(instance.lagSeconds)),
      h('td', { 'data-label': 'Changes applied', class: 'number' }, count(instance.eventsApplied)),
    ),
    error !== null &&
      h(
        'tr',
        { key: `${id} error`, class: 'error-row' },
        h('td', { colSpan: hasPods ? 6 : 5, class: 'error' }, foreignText(error)),
      ),
  ];
}
