import { h, type ComponentChild } from 'preact';
import { useState } from 'preact/hooks';
import { countText } from '../../service/quantities.ts';
import type { CollectionsView, CollectionView, SyncDetail } from '../api/sync-view.ts';
import { collectionsText } from '../view/collection-counts.ts';
import { foreignText } from './foreign-text.ts';
import { icon } from './icons.ts';
import { bar, bytes, card, empty } from './small-parts.ts';

interface CollectionsCardProps {
  readonly collections: CollectionsView | null;
  readonly indexes: SyncDetail['indexes'];
  readonly reconciliation: SyncDetail['reconciliation'];
}

/** How many are shown at first. */
const shownFirst = 12;
/** How many are added each time. */
const shownMore = 500;

/** The copy progress of each collection, what the copy has compared, and the indexes that are being built. */
export function CollectionsCard({
  collections,
  indexes,
  reconciliation,
}: CollectionsCardProps): ComponentChild {
  const [limit, setLimit] = useState(shownFirst);
  const all = collections?.collections ?? [];
  const shown = all.slice(0, limit);
  return card(
    'Collections',
    collections && collectionsText(collections),
    reconciliation && reconciliationLine(reconciliation),
    indexes && indexLine(indexes),
    all.length === 0
      ? empty('Collections are listed while they are copied.')
      : h('ul', { class: 'collections' }, shown.map(collectionLine)),
    all.length > shown.length &&
      h(
        'button',
        {
          ...{ type: 'button', class: 'more' },
          onClick: () => {
            setLimit(limit + shownMore);
          },
        },
        `Show ${Math.min(shownMore, all.length - shown.length)} more`,
      ),
    limit > shownFirst &&
      collections !== null &&
      collections.total > all.length &&
      shown.length === all.length &&
      h(
        'p',
        { class: 'muted' },
        `${collections.isExact ? '' : 'At least '}${countText(collections.total - all.length)} more are not listed.`,
      ),
  );
}

function collectionLine({
  namespace,
  totalBytes,
  copiedBytes,
  isCopied,
}: CollectionView): ComponentChild {
  const percent = isCopied
    ? 100
    : totalBytes === 0
      ? 0
      : Math.min(99, (copiedBytes / totalBytes) * 100);
  const state = isCopied ? 'copied' : copiedBytes > 0 ? 'copying' : 'waiting';
  const look = { copied: 'good', copying: 'busy', waiting: 'quiet' } as const;
  const icons = { copied: 'check', copying: 'copy', waiting: 'clock' } as const;
  return h(
    'li',
    { key: namespace },
    h('span', { class: 'namespace cut', title: namespace }, foreignText(namespace)),
    h('span', { class: `plain tone-${look[state]}` }, icon(icons[state]), state),
    bar(percent, `Copied of ${namespace}`, look[state]),
    h(
      'span',
      { class: 'sizes muted' },
      isCopied ? bytes(totalBytes) : [bytes(copiedBytes), ' of ', bytes(totalBytes)],
    ),
  );
}

function reconciliationLine({
  comparedDocuments,
  changedDocuments,
}: NonNullable<SyncDetail['reconciliation']>): ComponentChild {
  return h(
    'p',
    { class: 'muted' },
    `Compared with the documents that were there: ${countText(comparedDocuments)}, ${countText(changedDocuments)} of them changed`,
  );
}

function indexLine({ built, total }: NonNullable<SyncDetail['indexes']>): ComponentChild {
  const percent = total === 0 ? 100 : (built / total) * 100;
  return h(
    'div',
    { class: 'indexes' },
    h('span', null, `Building indexes: ${countText(built)} of ${countText(total)}`),
    bar(percent, 'Indexes built', built === total ? 'good' : 'busy'),
  );
}
