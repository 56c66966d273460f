import type { VerificationProgress, VerifierProgressAnswer } from '../../sync-api/json.ts';
import type { SideName } from '../../mongo/sides.ts';
import type { Summary } from '../store/summary.ts';

/**
 * The progress of a verification, for the API. All counters are those of the current pass and restart with each pass.
 * @param retryWarnings - of this process.
 */
export function progressBody(
  summary: Summary,
  retryWarnings: readonly string[],
): VerifierProgressAnswer {
  const { record, counts, mismatchCount, mismatchCounts, mismatches, compared } = summary;
  const { added = 0, processing = 0, failed = 0, completed = 0 } = counts ?? {};
  const error = record?.error;
  const asOf = summary.isLatest ? null : new Date(summary.atMs).toISOString();
  return {
    progress: {
      phase: phaseOf(summary),
      error: error ? `${error.name}: ${error.message}` : null,
      verificationStatus: {
        totalTasks: added + processing + failed + completed,
        addedTasks: added,
        processingTasks: processing,
        failedTasks: failed,
        completedTasks: completed,
        metadataMismatchTasks: counts?.metadataMismatch ?? 0,
        recheckTasks: summary.waiting,
      },
      verdict: record?.verdict ?? null,
      proof: record?.proof ?? null,
      writesOff: record?.writesOff ?? false,
      generation: record?.generation?.number ?? 0,
      generationKind: record?.generation?.kind ?? null,
      srcLastRecheckedTS: comparedUpTo(summary, 'source'),
      dstLastRecheckedTS: comparedUpTo(summary, 'destination'),
      mismatchCount,
      lastPass: lastPass(summary),
      mismatchKinds: mismatchCounts.kinds,
      mismatchNamespaces: mismatchCounts.namespaces,
      mismatches,
      documentsCompared: compared.documents,
      bytesCompared: compared.bytes,
      generationStats: generationStats(summary),
      processes: summary.processes,
      startedAt: record?.startedAt?.toISOString() ?? null,
      completedAt: record?.completedAt?.toISOString() ?? null,
      asOf,
      warnings: [
        ...(asOf === null ? [] : [staleText(asOf)]),
        ...retryWarnings,
        // Those of an earlier time may be over.
        ...(asOf === null ? summary.warningsOfOthers : []),
      ],
    },
  };
}

/** The cluster time up to which every change of a side has been compared by a pass that has ended. */
function comparedUpTo(
  { record }: Summary,
  side: SideName,
): VerificationProgress['srcLastRecheckedTS'] {
  const pass = record?.generation;
  const times = pass?.noted === null ? pass.comparedUpTo : pass?.readAfter;
  return times ? { $timestamp: { t: times[side].t, i: times[side].i } } : null;
}

function lastPass({ record, atMs }: Summary): VerificationProgress['lastPass'] {
  if (!record?.lastPass) return null;
  const { generation, mismatches, longestMs, isWhole, endedAt, shortSince } = record.lastPass;
  return {
    generation,
    mismatchCount: mismatches,
    longestSeconds: Math.ceil(longestMs / 1000),
    isWhole,
    shortSeconds: Math.max(0, Math.floor((endedAt.getTime() - shortSince.getTime()) / 1000)),
    // The process that has recorded it may have another clock.
    ageSeconds: Math.max(0, Math.floor((atMs - endedAt.getTime()) / 1000)),
  };
}

function staleText(asOf: string): string {
  return `the metadata store does not answer: this is the progress at ${asOf}`;
}

function phaseOf({ record }: Summary): VerificationProgress['phase'] {
  if (record?.status !== 'running') return 'idle';
  return (record.generation?.number ?? 0) === 0 ? 'check' : 'recheck';
}

function generationStats({
  record,
  counts,
  atMs,
}: Summary): VerificationProgress['generationStats'] {
  const { documents = 0, bytes = 0 } = counts?.compared ?? {};
  // A collection grows while it is compared.
  const documentsTotal = Math.max(documents, counts?.expected.documents ?? 0);
  const bytesTotal = Math.max(bytes, counts?.expected.bytes ?? 0);
  const startedAtMs = record?.generation?.startedAt.getTime() ?? atMs;
  const endedAtMs = record?.completedAt?.getTime() ?? atMs;
  const seconds = Math.max(0, endedAtMs - startedAtMs) / 1000;
  const perSecond = (amount: number): number => (seconds > 0 ? Math.round(amount / seconds) : 0);
  // The sizes of single documents are not known in advance.
  const isBySize = (counts?.expected.bytes ?? 0) > 0;
  const done = isBySize ? bytes / bytesTotal : documents / Math.max(1, documentsTotal);
  const isOver = (counts?.added ?? 0) + (counts?.processing ?? 0) === 0;
  const left = isOver ? 0 : done > 0 ? Math.ceil((seconds * (1 - done)) / done) : null;
  return {
    documentsCompared: documents,
    documentsTotal,
    bytesCompared: bytes,
    bytesTotal,
    documentsPerSecond: perSecond(documents),
    bytesPerSecond: perSecond(bytes),
    secondsLeft: record?.generation ? left : null,
  };
}
