import type { CommitReadiness } from '../../dashboard/api/sync-view.ts';
import { copiedOfTotal } from '../../dashboard/view/collection-counts.ts';
import type { SyncProgress } from '../api/combine.ts';
import {
  copyInfo,
  type Reconciliation,
  type ReportedCollection,
  type CombinedCollections,
} from '../../sync-api/syncer-answers.ts';
import type { VerificationProgress } from '../api/verifier-api.ts';
import {
  bytesText,
  countOf,
  countText,
  durationText,
  percentText,
  rateText,
} from '../../service/quantities.ts';
import { barText, type Line, type Segment, type Style } from './style.ts';
import { cutTo, fitTo } from './width.ts';
import { harmless } from '../../service/harmless.ts';

/** What is known about a sync at a moment. */
export interface View {
  /** What the syncers last reported; without what grows or shrinks with time, if they do not answer now. */
  readonly sync: SyncProgress;
  readonly collections: CombinedCollections | undefined;
  readonly verification: VerificationProgress | undefined;
  /** Undefined if nobody is about to commit. */
  readonly commitReadiness: CommitReadiness | undefined;
  /** Null while that is not known. */
  readonly copyBytesPerSecond: number | null;
  readonly eventsPerSecond: number | null;
  /** What has just failed and is being retried. */
  readonly warning: string | undefined;
}

/** The available space. */
export interface Room {
  readonly columns: number;
  readonly rows: number;
}

const labelColumns = 11;
const widestName = 40;
const maxWarnings = 4;

/** An oplog window longer than this is not a concern. */
const oplogToldSeconds = 7 * 86_400;

/** The present state, in lines that fit the available space. */
export function frameOf(view: View, room: Room, style: Style): Line[] {
  const { sync, verification, warning } = view;
  const warnings = [
    ...(warning === undefined ? [] : [warning]),
    ...sync.warnings,
    ...(verification?.warnings ?? []).map((text) => `verifier: ${text}`),
  ];
  const below: Line[] = [
    ...(isCopying(sync) ? oplogLines(sync) : [changesLine(view)]),
    ...(sync.indexes === null ? [] : [indexesLine(sync.indexes)]),
    ...(verification ? [verificationLine(verification, room, style)] : []),
    ...commitLines(view),
    ...warnings
      .slice(0, maxWarnings)
      .map((text): Line => [label('warning', 'warning'), { text: harmless(text) }]),
    ...(warnings.length > maxWarnings
      ? [[{ text: fitTo('', labelColumns) }, { text: `and ${warnings.length - maxWarnings} more` }]]
      : []),
  ];
  const above = copyLines(view, { ...room, rows: room.rows - below.length }, style);
  return [...above, ...below].slice(0, Math.max(1, room.rows));
}

function isCopying({ info }: SyncProgress): boolean {
  return info === copyInfo || info === null;
}

function label(text: string, tone: Segment['tone'] = 'strong'): Segment {
  return { text: fitTo(text, labelColumns), tone };
}

function copyLines(view: View, room: Room, style: Style): Line[] {
  const { sync, collections } = view;
  const total: Line = [label('copy'), { text: copyText(view, room, style) }];
  if (!isCopying(sync) || !collections) return [total];
  // One line for the total, and one for those that are not listed.
  const { shown, others } = foldCollections(collections, room.rows - 2);
  const longest = Math.max(0, ...shown.map(({ namespace }) => harmless(namespace).length));
  const nameColumns = Math.min(longest, widestName, Math.max(8, room.columns - 50));
  const counts = [
    ...(others.underWay > 0 ? [`${countText(others.underWay)} under way`] : []),
    ...(others.waiting > 0 ? [`${countText(others.waiting)} waiting`] : []),
    ...(others.copied > 0 ? [`${countText(others.copied)} copied`] : []),
  ].join(', ');
  const rest = counts === '' || collections.isExact ? counts : `at least ${counts}`;
  return [
    total,
    ...shown.map((one) => collectionLine(one, nameColumns, room, style)),
    ...(rest === ''
      ? []
      : [[{ text: `  ${shown.length > 0 ? 'others: ' : ''}${rest}`, tone: 'faint' } as const]]),
  ];
}

function collectionLine(
  { namespace, copiedBytes, totalBytes }: ReportedCollection,
  nameColumns: number,
  room: Room,
  style: Style,
): Line {
  const fraction = shareOf(copiedBytes, totalBytes);
  return [
    { text: `  ${fitTo(harmless(namespace), nameColumns)}  ` },
    { text: barText(fraction, barCells(room), style), tone: 'good' },
    {
      text: `  ${percentText(fraction).padStart(5)}  ${bytesText(copiedBytes)} of ${bytesText(totalBytes)}`,
      tone: 'faint',
    },
  ];
}

/** The copy as a whole, in one line. */
export function copyText(view: View, room: Room, style: Style): string {
  const { sync, copyBytesPerSecond } = view;
  const { copiedBytes, totalBytes } = sync;
  if (copiedBytes === null || totalBytes === null) return 'has not begun';
  const { reconciliation } = sync;
  const compared = reconciliation ? [`compared ${reconciliationText(reconciliation)}`] : [];
  if (!isCopying(sync)) return [`done: ${bytesText(copiedBytes)}`, ...compared].join('  ');
  if (totalBytes === 0) return 'reading the catalog';
  const fraction = Math.min(shareOf(copiedBytes, totalBytes), 0.999);
  const cells = barCells(room);
  return [
    ...(cells > 0 ? [barText(fraction, cells, style)] : []),
    percentText(fraction),
    `${bytesText(copiedBytes)} of ${bytesText(totalBytes)}`,
    ...(copyBytesPerSecond === null ? [] : [`${bytesText(copyBytesPerSecond)}/s`]),
    ...leftText(totalBytes - copiedBytes, copyBytesPerSecond),
    ...compared,
  ].join('  ');
}

/** What was compared with the documents that the destination had already. */
export function reconciliationText({
  comparedDocuments,
  changedDocuments,
}: Reconciliation): string {
  return `${countOf(comparedDocuments, 'document')}, ${countText(changedDocuments)} changed`;
}

function leftText(bytes: number, perSecond: number | null): string[] {
  if (perSecond === null || perSecond <= 0 || bytes <= 0) return [];
  return [`${durationText(bytes / perSecond)} left`];
}

/** The changes that are applied after the copy, in words. */
export function changesText({ sync, eventsPerSecond }: View): string {
  const { lagSeconds, eventsApplied, catchUpSeconds, oplogSeconds, state } = sync;
  return [
    ...(state === 'RUNNING' ? [] : [state.toLowerCase()]),
    ...(lagSeconds === null ? [] : [`lag ${durationText(lagSeconds)}`]),
    ...(eventsApplied === null ? [] : [`${countText(eventsApplied)} applied`]),
    ...(eventsPerSecond === null ? [] : [`${rateText(eventsPerSecond)}/s`]),
    ...(catchUpSeconds === null || catchUpSeconds === 0
      ? []
      : [`caught up in ${durationText(catchUpSeconds)}`]),
    ...(isOplogTold(oplogSeconds) ? [`oplog lasts ${durationText(oplogSeconds)}`] : []),
  ].join('  ');
}

function isOplogTold(seconds: number | null): seconds is number {
  return seconds !== null && seconds <= oplogToldSeconds;
}

/** How long the oplog still holds what the sync needs, and how far back that begins. */
function oplogText({ lagSeconds, oplogSeconds }: SyncProgress): string | undefined {
  if (!isOplogTold(oplogSeconds)) return undefined;
  const lag = lagSeconds === null ? [] : [`lag ${durationText(lagSeconds)}`];
  return [`lasts ${durationText(oplogSeconds)}`, ...lag].join('  ');
}

function oplogLines(sync: SyncProgress): Line[] {
  const text = oplogText(sync);
  return text === undefined ? [] : [[label('oplog'), { text }]];
}

function changesLine(view: View): Line {
  return [label('changes'), { text: changesText(view) }];
}

function indexesLine({ built, total }: { readonly built: number; readonly total: number }): Line {
  return [label('indexes'), { text: `${countText(built)} of ${countText(total)} built` }];
}

/** A verification in words. */
export function verificationText(verification: VerificationProgress): string {
  const { verdict, error, generation, mismatchCount, documentsCompared, phase } = verification;
  const { asOf, documentsHashed } = verification;
  if (error !== null) return harmless(error);
  const compared = `${countOf(documentsCompared, 'document')} compared`;
  const byHashes = documentsHashed > 0 ? `, ${countText(documentsHashed)} only by hash` : '';
  if (verdict !== null) return `${verdict}  ${compared}${byHashes}`;
  if (phase === 'idle') return 'has not begun';
  return [
    `pass ${generation + 1}`,
    compared,
    mismatchCount === 0 ? 'no differences' : `${countOf(mismatchCount, 'difference')} to recheck`,
    ...(asOf === null ? [] : [`not current: as of ${harmless(asOf)}`]),
  ].join('  ');
}

function commitLines({ sync, commitReadiness }: View): Line[] {
  if (!commitReadiness || isCopying(sync) || sync.state !== 'RUNNING') return [];
  const { isReady, message } = commitReadiness;
  return [
    isReady
      ? [label('commit'), { text: 'ready', tone: 'good' }]
      : [label('commit'), { text: `not yet: ${message}` }],
  ];
}

function verificationLine(verification: VerificationProgress, room: Room, style: Style): Line {
  const { verdict, error, fraction } = verification;
  const tone = verdict === 'equal' ? 'good' : verdict !== null || error !== null ? 'bad' : 'plain';
  const cells = barCells(room);
  const bar =
    verdict === null && error === null && fraction !== null && cells > 0
      ? `${barText(fraction, cells, style)}  `
      : '';
  return [label('verify'), { text: `${bar}${verificationText(verification)}`, tone }];
}

function barCells({ columns }: Room): number {
  return Math.max(0, Math.min(24, Math.floor((columns - 56) / 1.5)));
}

function shareOf(done: number, total: number): number {
  return total <= 0 ? 1 : Math.min(1, done / total);
}

/** The present state in one line, for outputs that cannot be redrawn. */
export function plainLine(view: View, style: Style): string {
  const { sync, verification, collections } = view;
  const isBefore = isCopying(sync);
  const oplog = isBefore ? oplogText(sync) : undefined;
  return [
    isBefore
      ? `copy: ${copyText(view, { columns: 0, rows: 1 }, style)}`
      : `changes: ${changesText(view)}`,
    ...(oplog === undefined ? [] : [`oplog: ${oplog}`]),
    ...(isBefore && collections
      ? [`${copiedOfTotal(collections)} ${collections.total === 1 ? 'collection' : 'collections'}`]
      : []),
    ...(sync.indexes === null ? [] : [`indexes ${sync.indexes.built} of ${sync.indexes.total}`]),
    ...(verification ? [`verification: ${verificationText(verification)}`] : []),
    ...(view.warning === undefined ? [] : [`warning: ${cutTo(harmless(view.warning), 200)}`]),
  ].join('; ');
}

/** Collections that are listed, and how many others there are of each kind. */
export interface Folded {
  readonly shown: readonly ReportedCollection[];
  readonly others: {
    /** Under way, but there is no room. */
    readonly underWay: number;
    readonly waiting: number;
    readonly copied: number;
  };
}

/** Chooses what to list in this many lines: active collections, then waiting ones, the largest first; finished ones are only counted. */
export function foldCollections(
  { collections, total, copied, isExact }: Omit<CombinedCollections, 'unknownInstances'>,
  lines: number,
): Folded {
  const pending = collections.filter(({ isCopied }) => !isCopied);
  const isUnderWay = ({ copiedBytes }: ReportedCollection): boolean => copiedBytes > 0;
  const bySize = (left: ReportedCollection, right: ReportedCollection): number =>
    Number(isUnderWay(right)) - Number(isUnderWay(left)) || right.totalBytes - left.totalBytes;
  const shown = pending.toSorted(bySize).slice(0, Math.max(0, lines));
  const underWay = pending.filter(isUnderWay).length;
  const shownUnderWay = shown.filter(isUnderWay).length;
  // Otherwise the listed ones are all that is known to wait.
  const waiting = isExact ? Math.max(0, total - copied - underWay) : pending.length - underWay;
  return {
    shown,
    others: {
      underWay: underWay - shownUnderWay,
      waiting: Math.max(0, waiting - (shown.length - shownUnderWay)),
      copied,
    },
  };
}
