import type { SyncProgress } from '../api/combine.ts';
import type { VerificationProgress } from '../api/verifier-api.ts';
import { fieldLines, formatted, type OutputFormat } from '../render/formats.ts';
import { bytesText, countOf, countText } from '../../service/quantities.ts';
import { harmless } from '../../service/harmless.ts';

/** How many differences the text lists. */
const maxNamed = 10;

/** Prints all differences that the verification of a migration has found. */
export const reportCommand =
  'clustersync verifier report --metaURIFile <file with the destination> --verification run';

/** How to reverse a committed sync; for a sharded source each shard has a syncer, with its name as `--id`. */
const reverseCommands = [
  'clustersync syncer --cluster0File <file with the source> --cluster1File <file with the destination> &',
  'clustersync reverse --wait',
];

const sameConnections =
  'If you gave run a login or certificates by options, add them: --help lists their names.';

/** The result of a migration. */
export interface Summary {
  readonly state: string;
  /** Null if nothing was compared. */
  readonly verdict: 'equal' | 'different' | null;
  /** Whether it was started as reversible. */
  readonly reversible: boolean;
  readonly source: string | null;
  readonly destination: string | null;
  readonly startedAt: string | null;
  readonly endedAt: string;
  readonly copiedBytes: number | null;
  readonly eventsApplied: number | null;
  readonly documentsCompared: number | null;
  /** Null without the verdict `equal`. */
  readonly documentsCounted: { readonly source: number; readonly destination: number } | null;
  /** How many documents of each side were compared only by hash, as far as it is reported with the verdict `equal`. */
  readonly documentsHashed: number;
  readonly mismatchCount: number | null;
  /** The first of them. */
  readonly mismatches: readonly string[];
  readonly warnings: readonly string[];
}

/** The outcome of a migration. */
export function summaryOf(
  sync: SyncProgress,
  verification: VerificationProgress | undefined,
  reversible: boolean,
  endedAt: Date,
): Summary {
  return {
    state: sync.state,
    verdict: verification?.verdict ?? null,
    reversible,
    source: sync.source,
    destination: sync.destination,
    startedAt: sync.startedAt,
    endedAt: endedAt.toISOString(),
    copiedBytes: sync.copiedBytes,
    eventsApplied: sync.eventsApplied,
    documentsCompared: verification?.documentsCompared ?? null,
    documentsCounted: verification?.documentsCounted ?? null,
    documentsHashed: verification?.documentsHashed ?? 0,
    mismatchCount: verification?.mismatchCount ?? null,
    mismatches: verification?.mismatches ?? [],
    warnings: sync.warnings,
  };
}

/** A summary in the requested format. */
export function summaryText(summary: Summary, format: OutputFormat): string {
  return formatted(summary, format, () => textOf(summary));
}

function textOf(summary: Summary): string {
  const { verdict, copiedBytes, eventsApplied, mismatchCount } = summary;
  const { documentsCompared, documentsCounted, documentsHashed } = summary;
  const mismatches = summary.mismatches.slice(0, maxNamed);
  const more = (mismatchCount ?? 0) - mismatches.length;
  return [
    `${headline(verdict)}\n\n`,
    fieldLines({
      source: summary.source ?? undefined,
      destination: summary.destination ?? undefined,
      started: summary.startedAt ?? undefined,
      ended: summary.endedAt,
      copied: copiedBytes === null ? undefined : bytesText(copiedBytes),
      changes: eventsApplied === null ? undefined : `${countText(eventsApplied)} applied`,
      compared: documentsCompared === null ? undefined : countOf(documentsCompared, 'document'),
      counted: documentsCounted === null ? undefined : countedText(documentsCounted),
      'only by hash': documentsHashed > 0 ? countOf(documentsHashed, 'document') : undefined,
      differences: mismatchCount === null ? undefined : countText(mismatchCount),
    }),
    ...mismatches.map((mismatch) => `  ${harmless(mismatch)}\n`),
    ...(more > 0 && mismatches.length > 0 ? [`  and ${countText(more)} more\n`] : []),
    `\n${nextStep(summary)}\n`,
  ].join('');
}

function countedText({ source, destination }: NonNullable<Summary['documentsCounted']>): string {
  return `${countText(source)} on the source, ${countText(destination)} on the destination`;
}

function headline(verdict: Summary['verdict']): string {
  switch (verdict) {
    case 'equal':
      return 'Committed and verified: both sides are equal.';
    case 'different':
      return 'Committed, but the two sides are DIFFERENT.';
    case null:
      return 'Committed. Nothing was compared.';
  }
}

function nextStep({ verdict, reversible }: Summary): string {
  if (verdict === 'different') {
    return [
      'Do not use the destination until you know why. All differences:',
      `  ${reportCommand}`,
      sameConnections,
    ].join('\n');
  }
  if (!reversible) {
    return 'Point the applications at the destination; then drop clustersync_internal and clustersync_verifier there.';
  }
  return [
    'Point the applications at the destination. You can go back, including their new writes, as long as its oplog reaches',
    'back to the commit and clustersync_internal exists there:',
    ...reverseCommands.map((command) => `  ${command}`),
    sameConnections,
  ].join('\n');
}
