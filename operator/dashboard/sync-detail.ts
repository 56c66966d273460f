import type {
  CollectionsView,
  EventView,
  InstanceView,
  MismatchView,
  SyncDetail,
  VerificationView,
} from '../../dashboard/api/sync-view.ts';
import type { ClusterSync, InstanceStatus } from '../api/clustersync.ts';
import type { SyncVerification } from '../api/sync-verification.ts';
import { propertyIn, stringIn } from '../operand/http-api.ts';
import { readProgress } from '../clustersync/syncer-client.ts';
import { numberIn, verificationSummaryOf } from './sync-summary.ts';

/** What is known of a sync beside its resources. */
export interface AskedFacts {
  readonly collections: CollectionsView | null;
  /** By the name of the SyncVerification. */
  readonly mismatches: ReadonlyMap<string, readonly MismatchView[]>;
  readonly events: readonly EventView[];
}

/** What the page of one sync shows. */
export function detailOf(
  { status }: ClusterSync,
  verifications: readonly SyncVerification[],
  { collections, mismatches, events }: AskedFacts,
): SyncDetail {
  const progresses = (status?.instances ?? []).map(({ progress }) => progress);
  const known = (name: string): number[] =>
    progresses.flatMap((progress) => numberIn(progress, name) ?? []);
  const [oplog, catchUp] = [
    known('estimatedOplogTimeRemainingSeconds'),
    known('estimatedSecondsToCatchUp'),
  ];
  return {
    instances: (status?.instances ?? []).map((instance) =>
      instanceOf(instance, status?.coordinatorID),
    ),
    collections,
    indexes: indexesOf(progresses.map((progress) => propertyIn(progress, 'indexBuilding'))),
    verifications: verifications.map((verification) =>
      verificationOf(verification, mismatches.get(verification.metadata.name)),
    ),
    conditions: (status?.conditions ?? []).map(
      ({ type, status: value, reason, message, lastTransitionTime }) => {
        return { type, status: value, reason, message, since: lastTransitionTime };
      },
    ),
    warnings: [...new Set(progresses.flatMap((progress) => textsIn(progress, 'warnings')))],
    events,
    oplogSeconds: oplog.length === 0 ? null : Math.min(...oplog),
    catchUpSeconds: catchUp.length < progresses.length ? null : Math.max(0, ...catchUp),
  };
}

/** Puts together the collections that several instances copy parts of: GET /api/v1/collections of each. */
export function collectionsOf(answers: readonly unknown[]): CollectionsView | null {
  const lists = answers.filter((answer) => Array.isArray(propertyIn(answer, 'collections')));
  if (lists.length === 0) return null;
  const found = new Map<string, CollectionsView['collections'][number]>();
  for (const one of lists.flatMap((list) => arrayIn(list, 'collections'))) {
    const namespace = stringIn(one, 'namespace') ?? '';
    const other = found.get(namespace);
    found.set(namespace, {
      namespace,
      totalBytes: Math.max(numberIn(one, 'estimatedTotalBytes') ?? 0, other?.totalBytes ?? 0),
      copiedBytes: (numberIn(one, 'estimatedCopiedBytes') ?? 0) + (other?.copiedBytes ?? 0),
      isCopied: propertyIn(one, 'isCopied') === true && (other?.isCopied ?? true),
    });
  }
  const collections = [...found.values()];
  const [only] = lists;
  const isOne = lists.length === 1;
  const totals = lists.map((list) => numberIn(list, 'total') ?? 0);
  return {
    collections,
    total: Math.max(collections.length, ...totals),
    copied:
      (isOne ? numberIn(only, 'copied') : null) ??
      collections.filter(({ isCopied }) => isCopied).length,
  };
}

/** The differences in an answer of GET /api/v1/mismatches, without what documents hold: `_id`s and values are left out. */
export function mismatchesOf(answer: unknown): readonly MismatchView[] {
  return arrayIn(answer, 'mismatches').map((one) => ({
    namespace: stringIn(one, 'namespace') ?? '',
    kind: stringIn(one, 'kind') ?? '',
    index: stringIn(one, 'index') ?? null,
    field: stringIn(one, 'field') ?? null,
    detail: stringIn(one, 'detail') ?? null,
  }));
}

function instanceOf(
  { id, pod, ready, progress, error }: InstanceStatus,
  coordinatorID: string | undefined,
): InstanceView {
  const read = readProgress(progress);
  return {
    id,
    pod: pod ?? null,
    isReady: ready === true,
    isCoordinator: coordinatorID !== undefined && coordinatorID === id,
    state: read?.state ?? null,
    info: read?.info ?? null,
    copiedBytes: read?.estimatedCopiedBytes ?? null,
    lagSeconds: read?.lagTimeSeconds ?? null,
    eventsApplied: numberIn(progress, 'totalEventsApplied'),
    error: error ?? null,
  };
}

function indexesOf(buildings: readonly unknown[]): SyncDetail['indexes'] {
  const known = buildings.flatMap((building) => {
    const [built, total] = [
      numberIn(building, 'indexesBuilt'),
      numberIn(building, 'totalIndexesToBuild'),
    ];
    return built === null || total === null ? [] : [{ built, total }];
  });
  if (known.length === 0) return null;
  return {
    built: known.reduce((sum, { built }) => sum + built, 0),
    total: known.reduce((sum, { total }) => sum + total, 0),
  };
}

function verificationOf(
  verification: SyncVerification,
  list: readonly MismatchView[] | undefined,
): VerificationView {
  const { status } = verification;
  const progress = status?.verifier?.progress;
  const stats = propertyIn(progress, 'generationStats');
  return {
    ...verificationSummaryOf(verification),
    error: status?.verifier?.error ?? null,
    generation: numberIn(progress, 'generation'),
    documentsCompared: numberIn(progress, 'documentsCompared'),
    documentsDone: numberIn(stats, 'documentsCompared'),
    documentsTotal: numberIn(stats, 'documentsTotal'),
    kinds: (status?.mismatches?.byKind ?? []).map(({ kind, count }) => ({ name: kind, count })),
    namespaces: (status?.mismatches?.namespaces ?? []).map(({ namespace, count }) => {
      return { name: namespace, count };
    }),
    list: list ?? null,
    reportCommand: status?.report?.command ?? null,
  };
}

function arrayIn(value: unknown, name: string): readonly unknown[] {
  const property = propertyIn(value, name);
  return Array.isArray(property) ? (property as readonly unknown[]) : [];
}

function textsIn(value: unknown, name: string): readonly string[] {
  return arrayIn(value, name).filter((one) => typeof one === 'string');
}
