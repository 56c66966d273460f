import { h, type ComponentChild } from 'preact';
import type { InstanceView } from '../api/sync-view.ts';
import { icon } from './icons.ts';
import { bytes, card, count, empty, seconds, unknown } from './small-parts.ts';

/** The processes that carry a sync out. */
export function instancesCard(instances: readonly InstanceView[]): ComponentChild {
  const ready = instances.filter(({ isReady }) => isReady).length;
  return card(
    'Instances',
    instances.length > 0 && `${ready} of ${instances.length} ready`,
    instances.length === 0
      ? empty('None yet: how many there are follows from the shards of the source.')
      : h(
          'table',
          { class: 'rows' },
          h(
            'thead',
            null,
            h(
              'tr',
              null,
              ['Instance', 'Pod', 'State', 'Copied', 'Lag', 'Changes applied'].map((name, index) =>
                h('th', { scope: 'col', class: index > 2 ? 'number' : undefined }, name),
              ),
            ),
          ),
          h('tbody', null, instances.map(instanceRows)),
        ),
  );
}

function instanceRows(instance: InstanceView): readonly (ComponentChild | false)[] {
  const { id, pod, isReady, isCoordinator, state, info, error } = instance;
  return [
    h(
      'tr',
      { key: id, class: error === null ? undefined : 'has-error' },
      h(
        'th',
        { scope: 'row' },
        h('span', { class: 'name' }, id),
        isCoordinator && [' ', h('span', { class: 'badge' }, 'coordinator')],
      ),
      h(
        'td',
        { 'data-label': 'Pod' },
        h(
          'span',
          { class: `plain tone-${isReady ? 'good' : 'warning'}` },
          icon(isReady ? 'check' : 'clock'),
          isReady ? 'ready' : 'not ready',
        ),
        h('span', { class: 'muted pod' }, pod ?? ''),
      ),
      h(
        'td',
        { 'data-label': 'State' },
        h('span', null, state ?? unknown(), h('span', { class: 'muted' }, ` ${info ?? ''}`)),
      ),
      h('td', { 'data-label': 'Copied', class: 'number' }, bytes(instance.copiedBytes)),
      h('td', { 'data-label': 'Lag', class: 'number' }, seconds(instance.lagSeconds)),
      h('td', { 'data-label': 'Changes applied', class: 'number' }, count(instance.eventsApplied)),
    ),
    error !== null &&
      h(
        'tr',
        { key: `${id} error`, class: 'error-row' },
        h('td', { colSpan: 6, class: 'error' }, error),
      ),
  ];
}
