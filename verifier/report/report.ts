import { harmless, harmlessJson } from '../../service/terminal.ts';
import type { MismatchView } from '../compare/mismatch.ts';
import type { VerificationProgress } from '../../sync-api/json.ts';
import type { NamespaceReport } from '../namespace-report.ts';
import type { Proof } from '../state/records.ts';
import { formatJunit } from './junit.ts';

/** What a report tells of a verification. */
export interface ReportHead {
  readonly verification: string;
  readonly attempt: number;
  readonly status: 'idle' | 'running' | 'complete';
  /** Null until the verification is complete. */
  readonly verdict: 'equal' | 'different' | null;
  /** What the verdict `equal` rests on; null with another one. */
  readonly proof: Proof | null;
  readonly error: string | null;
  readonly generation: number;
  readonly startedAt: string | null;
  readonly completedAt: string | null;
  readonly documentsCompared: number;
  readonly bytesCompared: number;
  readonly mismatchKinds: VerificationProgress['mismatchKinds'];
  /** True where there were more differences than are kept. */
  readonly isOverflowing: boolean;
}

/** A report, whose long parts are read as they are written. */
export interface Report {
  readonly head: ReportHead;
  readonly mismatches: AsyncIterable<MismatchView>;
  readonly namespaces: AsyncIterable<NamespaceReport>;
}

/** The forms that a report can have. */
export const reportFormats = ['text', 'json', 'junit'] as const;

export type ReportFormat = (typeof reportFormats)[number];

/** The pieces of a report. */
export function formatReport(report: Report, format: ReportFormat): AsyncGenerator<string, void> {
  switch (format) {
    case 'text':
      return formatText(report);
    case 'json':
      return formatJson(report);
    case 'junit':
      return formatJunit(report);
  }
}

/** What a verification came to, in a few words. */
export function verdictText({ status, verdict, error }: ReportHead): string {
  if (error !== null) return `cannot go on: ${error}`;
  if (verdict !== null) return verdict;
  return status === 'idle' ? 'has not begun' : 'not complete';
}

async function* formatText({ head, mismatches, namespaces }: Report): AsyncGenerator<string, void> {
  const count = head.mismatchKinds.reduce((sum, each) => sum + each.count, 0);
  yield `verification: ${head.verification}\n`;
  yield `verdict:      ${harmless(verdictText(head))}\n`;
  if (head.startedAt !== null) yield `started:      ${head.startedAt}\n`;
  if (head.completedAt !== null) yield `completed:    ${head.completedAt}\n`;
  yield `compared:     ${head.documentsCompared} documents, ${head.bytesCompared} bytes, in ${head.generation + 1} passes\n`;
  if (head.proof) yield `counted:      ${proofText(head.proof)}\n`;
  yield `mismatches:   ${head.isOverflowing ? 'more than ' : ''}${count}\n`;
  for (const { kind, count: ofKind } of head.mismatchKinds) yield `  ${kind}: ${ofKind}\n`;
  if (count > 0) yield '\n';
  for await (const mismatch of mismatches) yield `${harmless(mismatchText(mismatch))}\n`;
  yield '\n';
  for await (const { namespace, coverage } of namespaces) {
    if (coverage) yield `${harmless(namespace)}: ${coverageText(coverage)}\n`;
  }
}

/** How many documents of a collection were compared, and counted. */
function coverageText({
  documentsCompared,
  documentsCounted,
}: NonNullable<NamespaceReport['coverage']>): string {
  const compared = `compared ${documentsCompared.source} documents of the source and ${documentsCompared.destination} of the destination`;
  if (documentsCounted === null) return compared;
  return `${compared}, counted ${documentsCounted.source} and ${documentsCounted.destination}`;
}

/** What the verdict `equal` rests on, in a few words. */
export function proofText({ collections, ranges, documentsCounted }: Proof): string {
  const { source, destination } = documentsCounted;
  return `${source} documents on the source and ${destination} on the destination, in ${collections} collections read in ${ranges} ranges`;
}

/** A difference in one line. */
export function mismatchText(mismatch: MismatchView): string {
  const { namespace, kind, id, index, field, detail, sourceValue, destinationValue } = mismatch;
  return [
    namespace,
    kind,
    ...(id === undefined ? [] : [`_id ${id}`]),
    ...(index === undefined ? [] : [`index ${index}`]),
    ...(field === undefined ? [] : [`at ${field}`]),
    ...(detail === undefined ? [] : [`(${detail})`]),
    ...(sourceValue === undefined ? [] : [`source ${sourceValue}`]),
    ...(destinationValue === undefined ? [] : [`destination ${destinationValue}`]),
  ].join(' ');
}

async function* formatJson({ head, mismatches, namespaces }: Report): AsyncGenerator<string, void> {
  const { isOverflowing, ...rest } = head;
  const open = harmlessJson(
    JSON.stringify({ ...rest, hasMoreMismatches: isOverflowing }, undefined, 2),
  );
  yield open.slice(0, -2);
  yield ',\n  "mismatches": [';
  yield* jsonRows(mismatches);
  yield '],\n  "namespaces": [';
  yield* jsonRows(namespaces);
  yield ']\n}\n';
}

async function* jsonRows(rows: AsyncIterable<object>): AsyncGenerator<string, void> {
  let count = 0;
  for await (const row of rows)
    yield `${count++ === 0 ? '' : ','}\n    ${harmlessJson(JSON.stringify(row))}`;
  if (count > 0) yield '\n  ';
}
