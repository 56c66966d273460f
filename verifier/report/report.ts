import { harmless } from '../../service/harmless.ts';
import { harmlessJson, harmlessXml } from '../../service/terminal.ts';
import type { MismatchView } from '../compare/mismatch.ts';
import type { VerificationProgress } from '../../sync-api/json.ts';
import type { Proof } from '../store/records.ts';
import type { NamespaceReport } from '../store/summary.ts';

/** The content of a report. */
export interface ReportHead {
  readonly verification: string;
  readonly attempt: number;
  readonly status: 'idle' | 'running' | 'complete';
  /** Null until the verification is complete. */
  readonly verdict: 'equal' | 'different' | null;
  /** The proof of the verdict `equal`; null with another one. */
  readonly proof: Proof | null;
  readonly error: string | null;
  readonly generation: number;
  readonly startedAt: string | null;
  readonly completedAt: string | null;
  readonly documentsCompared: number;
  readonly bytesCompared: number;
  readonly mismatchKinds: VerificationProgress['mismatchKinds'];
  /** True if there were more differences than are stored. */
  readonly isOverflowing: boolean;
}

/** A report, whose long parts are read while they are written. */
export interface Report {
  readonly head: ReportHead;
  readonly mismatches: AsyncIterable<MismatchView>;
  readonly namespaces: AsyncIterable<NamespaceReport>;
}

/** The formats of a report. */
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

/** The result of a verification, in a few words. */
function verdictText({ status, verdict, error }: ReportHead): string {
  if (error !== null) return `cannot continue: ${error}`;
  if (verdict !== null) return verdict;
  return status === 'idle' ? 'not started' : 'not complete';
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

/** How many documents of a collection were compared and counted. */
function coverageText({
  documentsCompared,
  documentsHashed,
  documentsCounted,
}: NonNullable<NamespaceReport['coverage']>): string {
  const compared = `compared ${documentsCompared.source} documents of the source and ${documentsCompared.destination} of the destination${hashedText(documentsHashed)}`;
  if (documentsCounted === null) return compared;
  return `${compared}, counted ${documentsCounted.source} and ${documentsCounted.destination}`;
}

/** How many of the documents were not compared byte for byte. */
function hashedText(documentsHashed: number): string {
  return documentsHashed === 0 ? '' : ` (${documentsHashed} on each side only by hash)`;
}

/** The proof of the verdict `equal`, in a few words. */
export function proofText(proof: Proof): string {
  const { collections, ranges, documentsHashed, documentsCounted } = proof;
  const { source, destination } = documentsCounted;
  return `${source} documents on the source and ${destination} on the destination${hashedText(documentsHashed)}, in ${collections} collections read in ${ranges} ranges`;
}

/** A difference in one line. */
function mismatchText(mismatch: MismatchView): string {
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

/** How many differences of a namespace its test case lists. */
const maxTold = 1000;

/**
 * A report as JUnit XML: one test case for the verification, and one for each namespace that was compared or differs. Both
 * streams are in the order of namespaces.
 */
export async function* formatJunit({
  head,
  mismatches,
  namespaces,
}: Report): AsyncGenerator<string, void> {
  const { verification } = head;
  yield '<?xml version="1.0" encoding="UTF-8"?>\n';
  yield `<testsuite name="${xml(`clustersync ${verification}`)}">\n`;
  yield testCase(verification, 'verdict', head.verdict === 'equal' ? [] : [verdictText(head)]);
  const rest = mismatches[Symbol.asyncIterator]();
  let next = await rest.next();
  const takeOf = async (namespace: string): Promise<string[]> => {
    const told: string[] = [];
    let count = 0;
    for (; next.done !== true && next.value.namespace === namespace; next = await rest.next()) {
      count += 1;
      if (told.length < maxTold) told.push(mismatchText(next.value));
    }
    return count > told.length ? [...told, `and ${count - told.length} more`] : told;
  };
  const upTo = async function* (namespace: string | undefined): AsyncGenerator<string, void> {
    for (;;) {
      const value: MismatchView | undefined = next.done === true ? undefined : next.value;
      if (!value || (namespace !== undefined && !isBefore(value.namespace, namespace))) return;
      yield testCase(verification, value.namespace, await takeOf(value.namespace));
    }
  };
  for await (const { namespace } of namespaces) {
    yield* upTo(namespace);
    yield testCase(verification, namespace, await takeOf(namespace));
  }
  yield* upTo(undefined);
  yield '</testsuite>\n';
}

/** In the order of the metadata store: by UTF-8 bytes. */
function isBefore(one: string, other: string): boolean {
  return Buffer.compare(Buffer.from(one), Buffer.from(other)) < 0;
}

function testCase(className: string, name: string, failures: readonly string[]): string {
  const open = `  <testcase classname="${xml(className)}" name="${xml(name)}"`;
  if (failures.length === 0) return `${open}/>\n`;
  const [first = ''] = failures;
  const text = failures.map(xml).join('\n');
  return `${open}>\n    <failure message="${xml(first)}">${text}</failure>\n  </testcase>\n`;
}

/** Text for XML 1.0, without characters that it cannot express. */
function xml(text: string): string {
  const escaped = text
    .replaceAll(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '')
    .toWellFormed()
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll('\n', '&#xa;');
  return harmlessXml(escaped);
}
