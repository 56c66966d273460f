import { h, type ComponentChild } from 'preact';
import { countOf, countText } from '../../service/quantities.ts';
import type { PageInfo } from '../api/messages.ts';
import type { MismatchCount, MismatchView, SyncRow, VerificationView } from '../api/sync-view.ts';
import { alikeMismatches } from '../view/alike-mismatches.ts';
import { noDifferencesText, passPercent } from '../view/figure-words.ts';
import { differencesHelp, verificationHelp } from '../view/help.ts';
import { verificationLook } from '../view/phase.ts';
import { Command } from './command.ts';
import { foreignText } from './foreign-text.ts';
import { bar, card, empty, helpLink, pill } from './small-parts.ts';

/** The verifications of a sync, each with its results. */
export function verificationCards(
  verifications: readonly VerificationView[],
  carriedOutBy: SyncRow['carriedOutBy'],
  docsUrl: PageInfo['docsUrl'],
): ComponentChild[] {
  if (verifications.length === 0) {
    return [card('Verification', null, empty(noneTexts[carriedOutBy]))];
  }
  return verifications.map((verification) =>
    card(
      verifications.length === 1 ? 'Verification' : `Verification ${verification.name}`,
      pill(verificationLook(verification)),
      progress(verification),
      problem(verification, docsUrl),
      findings(verification, docsUrl),
    ),
  );
}

const noneTexts: Readonly<Record<SyncRow['carriedOutBy'], string>> = {
  operator: 'None: create a SyncVerification for this sync to compare both sides.',
  run: 'None yet: it starts after the copy, unless the command was given --no-verify.',
};

function progress(verification: VerificationView): ComponentChild {
  const { name, documentsCompared, documentsHashed, generation } = verification;
  const percent = passPercent(verification);
  return h(
    'div',
    { class: 'verification' },
    h(
      'p',
      { class: 'muted' },
      h('span', { class: 'name' }, foreignText(name)),
      documentsCompared !== null && ` · ${countOf(documentsCompared, 'document')} compared`,
      documentsHashed !== null &&
        documentsHashed > 0 &&
        `, ${countText(documentsHashed)} only by hash`,
      generation !== null && ` · pass ${generation + 1}`,
    ),
    percent !== undefined && bar(percent, 'Compared in this pass'),
  );
}

function problem(
  { error, reason }: VerificationView,
  docsUrl: PageInfo['docsUrl'],
): ComponentChild | false {
  return (
    error !== null &&
    h(
      'p',
      { class: 'error verification-error' },
      foreignText(error),
      helpLink(verificationHelp(reason, docsUrl)),
    )
  );
}

function findings(verification: VerificationView, docsUrl: PageInfo['docsUrl']): ComponentChild {
  const { mismatches, kinds, namespaces, list, phase, verdict, reportCommand } = verification;
  if (mismatches === null) return empty('Nothing has been compared yet.');
  if (mismatches === 0) {
    return h('p', null, noDifferencesText(verification));
  }
  const isUnderWay = verdict === null && !['Failed', 'Succeeded'].includes(phase);
  return h(
    'div',
    { class: 'findings' },
    h(
      'p',
      null,
      h('strong', { class: 'figure' }, countOf(mismatches, 'difference')),
      isUnderWay ? ' so far: they are rechecked before the verdict.' : ' found.',
      // While writes go through the sync, some are normal: what to do about them would undo the sync.
      verdict === 'different' && helpLink(differencesHelp(docsUrl)),
    ),
    h('div', { class: 'pair' }, counts('By kind', kinds), counts('By namespace', namespaces)),
    list !== null && list.length > 0 && mismatchTable(list),
    list !== null &&
      list.length < mismatches &&
      h('p', { class: 'muted' }, `The first ${countText(list.length)} are shown.`),
    reportCommand !== null &&
      h(
        'div',
        { class: 'readiness-text' },
        h('p', { class: 'muted' }, 'The report lists each document:'),
        h(Command, { text: reportCommand }),
      ),
  );
}

function counts(title: string, rows: readonly MismatchCount[]): ComponentChild {
  const largest = Math.max(1, ...rows.map(({ count }) => count));
  return h(
    'div',
    null,
    h('h3', null, title),
    h(
      'ul',
      { class: 'counts' },
      rows.map(({ name, count }) =>
        h(
          'li',
          { key: name },
          h('span', { class: 'cut', title: name }, foreignText(name)),
          h('span', { class: 'figure' }, countText(count)),
          h(
            'span',
            { class: 'share', 'aria-hidden': 'true' },
            h('span', { style: { width: `${(count / largest) * 100}%` } }),
          ),
        ),
      ),
    ),
  );
}

function mismatchTable(list: readonly MismatchView[]): ComponentChild {
  return h(
    'div',
    { class: 'scroll', tabIndex: 0, role: 'region', 'aria-label': 'Differences' },
    h(
      'table',
      { class: 'rows mismatches' },
      h(
        'thead',
        null,
        h(
          'tr',
          null,
          ['Namespace', 'Kind', 'Where', 'Detail'].map((name) => h('th', { scope: 'col' }, name)),
          h('th', { scope: 'col', class: 'number' }, 'Differences'),
        ),
      ),
      h(
        'tbody',
        null,
        alikeMismatches(list).map(({ mismatch, count }) => {
          const { namespace, kind, index, field, detail } = mismatch;
          return h(
            'tr',
            null,
            h('td', { 'data-label': 'Namespace' }, foreignText(namespace)),
            h('td', { 'data-label': 'Kind' }, foreignText(kind)),
            h(
              'td',
              { 'data-label': 'Where' },
              index === null
                ? foreignText(field ?? '')
                : h('span', null, 'index ', foreignText(index)),
            ),
            h('td', { 'data-label': 'Detail' }, foreignText(detail ?? '')),
            h('td', { 'data-label': 'Differences', class: 'number' }, countText(count)),
          );
        }),
      ),
    ),
  );
}
