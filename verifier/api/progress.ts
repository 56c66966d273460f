import type { MismatchView } from '../compare/mismatch.ts';
import type { PassKind, Proof } from '../store/records.ts';
import type { KindCount, NamespaceCount } from '../store/mismatch-store.ts';
import type { Summary } from '../store/summary.ts';

/** `idle` before the check and when it is complete, `check` in the first pass, `recheck` in all others. */
export type Phase = 'idle' | 'check' | 'recheck';

/** The body of GET /api/v1/progress. All counters are those of the current pass and start afresh with each. */
export interface ProgressBody {
  readonly progress: {
    /** A verification that cannot go on keeps the phase in which it failed. */
    readonly phase: Phase;
    /** `Name: description` of what keeps the verification from going on. */
    readonly error: string | null;
    readonly verificationStatus: {
      readonly totalTasks: number;
      /** Tasks that wait. */
      readonly addedTasks: number;
      readonly processingTasks: number;
      /** Tasks that found a difference of any kind; once idle with a verdict, 0 means equal. */
      readonly failedTasks: number;
      /** Tasks that found no difference. */
      readonly completedTasks: number;
      /** Those of failedTasks that found a difference in existence, kind, options, indexes or placement of a namespace. */
      readonly metadataMismatchTasks: number;
      /** Documents and namespaces that wait for the next pass. */
      readonly recheckTasks: number;
    };
    /** Null until the verification is complete. */
    readonly verdict: 'equal' | 'different' | null;
    /** What the verdict `equal` rests on; null without it. */
    readonly proof: Proof | null;
    /** Whether it knows that writes have stopped. */
    readonly writesOff: boolean;
    /** Number of the pass; 0 is the first. */
    readonly generation: number;
    /** What the pass compares: everything (`first`), what changed or differed (`recheck`), or what decides (`last`). */
    readonly generationKind: PassKind | null;
    /** Number of differences that the pass has found; before there is a verdict they are looked at again. */
    readonly mismatchCount: number;
    readonly mismatchKinds: readonly KindCount[];
    /** The namespaces with the most of them, at most ten. */
    readonly mismatchNamespaces: readonly NamespaceCount[];
    /** The first of them. */
    readonly mismatches: readonly MismatchView[];
    /** By all passes together. */
    readonly documentsCompared: number;
    readonly bytesCompared: number;
    /** What the current pass has compared, and what it has to, as far as that is known. */
    readonly generationStats: {
      readonly documentsCompared: number;
      readonly documentsTotal: number;
      readonly bytesCompared: number;
      readonly bytesTotal: number;
      readonly documentsPerSecond: number;
      readonly bytesPerSecond: number;
      /** Until the end of the pass; null where it cannot be told. */
      readonly secondsLeft: number | null;
    };
    /** Ids of the processes that work on it. */
    readonly processes: readonly string[];
    /** ISO times; null until then. */
    readonly startedAt: string | null;
    readonly completedAt: string | null;
    /** ISO time at which all of this was so, where the metadata store has fallen silent since then; null where it is the latest. */
    readonly asOf: string | null;
    /** What somebody should know of, in words. */
    readonly warnings: readonly string[];
  };
}

/** How far a verification is, for the API. */
export function progressBody(summary: Summary): ProgressBody {
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
      mismatchCount,
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
      warnings: asOf === null ? [] : [staleText(asOf)],
    },
  };
}

function staleText(asOf: string): string {
  return `the metadata store does not answer: this is how far the verification was at ${asOf}`;
}

function phaseOf({ record }: Summary): Phase {
  if (record?.status !== 'running') return 'idle';
  return (record.generation?.number ?? 0) === 0 ? 'check' : 'recheck';
}

function generationStats({
  record,
  counts,
  atMs,
}: Summary): ProgressBody['progress']['generationStats'] {
  const { documents = 0, bytes = 0 } = counts?.compared ?? {};
  // A collection grows while it is compared.
  const documentsTotal = Math.max(documents, counts?.expected.documents ?? 0);
  const bytesTotal = Math.max(bytes, counts?.expected.bytes ?? 0);
  const startedAtMs = record?.generation?.startedAt.getTime() ?? atMs;
  const endedAtMs = record?.completedAt?.getTime() ?? atMs;
  const seconds = Math.max(0, endedAtMs - startedAtMs) / 1000;
  const perSecond = (amount: number): number => (seconds > 0 ? Math.round(amount / seconds) : 0);
  // Of single documents the sizes are not known before.
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
