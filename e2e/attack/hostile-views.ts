import type {
  SyncDetail,
  SyncSummary,
  VerificationSummary,
  VerificationView,
} from '../../dashboard/api/sync-view.ts';

/** A text for a place, by the name of the place. */
export type TextFor = (place: string) => string;

const time = '2026-01-01T00:00:00Z';

/**
 * A sync that has a hostile text wherever a text from outside is shown. Names of resources and namespaces have none: the API server
 * takes lower-case letters, digits, hyphens and dots for them, and nothing else.
 */
export function hostileSummary(name: string, text: TextFor): SyncSummary {
  return {
    ...{ key: `tenant/${name}`, namespace: 'tenant', name, carriedOutBy: 'operator' },
    ...{ phase: text('phase'), source: text('source'), destination: text('destination') },
    ...{ isReversed: true, readyInstances: text('ready') },
    readiness: { kind: 'stalled', reason: text('reason'), message: text('message') },
    commitReadiness: { isReady: true, message: text('commit') },
    ...{ percent: 50, totalBytes: 1000, copiedBytes: 500, lagSeconds: 3, eventsApplied: 7 },
    oplogSeconds: 4,
    ...{ createdAt: time, startedAt: text('time'), copiedAt: text('time'), committedAt: time },
    // The list would show the second instead, by a word of its own.
    verifications: verificationsOf(text).slice(0, 1),
  };
}

/** One that is shown by its phase, and one with differences. */
function verificationsOf(text: TextFor): VerificationSummary[] {
  return ['first', 'second'].map((one) => ({
    ...{ name: text(`${one} verification`), phase: text(`${one} verification's phase`) },
    ...{ verdict: one === 'first' ? null : 'different', mismatches: one === 'first' ? 0 : 3 },
    ...{ isPart: false, isStalled: false },
  }));
}

/** Where the list shows texts of such a sync. */
export const placesInList: readonly string[] = [
  ...['phase', 'source', 'destination', 'reason', 'message', "first verification's phase"],
];

/** Everything else about it. */
export function hostileDetail(text: TextFor): SyncDetail {
  return {
    instances: ['first', 'second'].map((one) => ({
      ...{ id: text(`${one} id`), pod: text(`${one} pod`), isReady: true, isCoordinator: true },
      ...{ state: text(`${one} state`), info: text(`${one} info`), error: text(`${one} error`) },
      ...{ copiedBytes: 1, lagSeconds: 2, eventsApplied: 3 },
    })),
    reconciliation: null,
    heldBack: {
      ...{ heldBackBy: [text('limit')], secondsHeldBack: 7, shareOfLastMinute: 0.5 },
    },
    collections: {
      ...{ total: 2, copied: 1, isExact: true, unknownInstances: 0 },
      collections: ['copied', 'waiting'].map((one) => ({
        ...{ namespace: text(`${one} collection`), isCopied: one === 'copied' },
        ...{ totalBytes: 10, copiedBytes: 5 },
      })),
    },
    indexes: { built: 1, total: 2 },
    verifications: verificationsOf(text).map((one) => verificationView(one, text)),
    conditions: ['True', 'False'].map((status) => ({
      ...{ type: text(`type ${status}`), status, reason: text(`reason ${status}`) },
      ...{ message: text(`message ${status}`), since: text('time') },
    })),
    findings: ['Blocker', text('severity')].map((severity, index) => ({
      ...{ severity, name: text(`finding ${index}`), message: text(`found ${index}`) },
      action: text(`action ${index}`),
    })),
    warnings: [text('first warning'), text('second warning')],
    events: {
      shown: ['Warning', text('type')].map((type, index) => ({
        ...{ type, reason: text(`reason ${index}`), note: text(`note ${index}`) },
        ...{
          about: text(`about ${index}`),
          count: index + 1,
          at: index === 0 ? time : text('time'),
        },
      })),
      hasMore: false,
    },
    catchUpSeconds: 5,
  };
}

function verificationView(summary: VerificationSummary, text: TextFor): VerificationView {
  const isDifferent = summary.verdict === 'different';
  return {
    ...{ ...summary, error: text(`error of ${summary.name}`), generation: 1 },
    reason: text(`reason of ${summary.name}`),
    ...{ documentsCompared: 12, documentsHashed: 5, documentsDone: 3, documentsTotal: 4 },
    kinds: isDifferent ? [{ name: text('kind'), count: 2 }] : [],
    namespaces: isDifferent ? [{ name: text('namespace'), count: 2 }] : [],
    list: isDifferent
      ? ['index', 'field'].map((where) => ({
          ...{ namespace: text(`${where}: namespace`), kind: text(`${where}: kind`) },
          ...{ index: where === 'index' ? text('index') : null, field: text('field') },
          detail: text(`${where}: detail`),
        }))
      : null,
    reportCommand: isDifferent ? text('command') : null,
  };
}

/** Where the page of one sync shows texts: all that it is told, but for what only decides how something looks. */
export const placesInPage: readonly string[] = [
  ...['phase', 'source', 'destination', 'reason', 'message', 'type True', 'type False', 'command'],
  'limit',
  ...['first', 'second'].flatMap((one) =>
    ['id', 'pod', 'state', 'info', 'error', 'warning', 'verification'].map(
      (what) => `${one} ${what}`,
    ),
  ),
  ...['copied collection', 'waiting collection', 'kind', 'namespace', 'index', 'field'],
  ...['index', 'field'].flatMap((where) =>
    ['namespace', 'kind', 'detail'].map((what) => `${where}: ${what}`),
  ),
  ...['reason True', 'reason False', 'message True', 'message False'],
  ...['severity', 'finding 0', 'finding 1', 'found 0', 'found 1', 'action 0', 'action 1'],
  ...['reason 0', 'reason 1', 'note 0', 'note 1', 'about 0', 'about 1'],
  "first verification's phase",
];
