import { createClusterClient } from '../../mongo/cluster-client.ts';
import { connectionOf } from '../../mongo/connection.ts';
import { runCommand } from '../../mongo/run-command.ts';
import { SyncError } from '../../service/errors.ts';
import type { Logger } from '../../service/logger.ts';
import { writePrivateFile } from '../../service/private-file.ts';
import { writeOut } from '../../service/terminal.ts';
import type { MismatchView } from '../compare/mismatch.ts';
import { VerifierMonitor } from '../monitor.ts';
import { metadataDb } from '../store/metadata-store.ts';
import { planKey, type VerificationRecord } from '../store/records.ts';
import { storesOf, type Stores } from '../store/stores.ts';
import { namespaceReports, readSummary, type NamespaceReport } from '../store/summary.ts';
import type { ReportOptions } from './options.ts';
import { formatReport, type Report } from './report.ts';

/** The exit codes of a report. */
export const reportExitCode = { equal: 0, different: 1, unknown: 3 } as const;

const pageLength = 1000;

/**
 * Writes the report of a recorded verification.
 * @returns the exit code: 0 equal, 1 different, 3 not known.
 * @throws SyncError NotFound if there is no such verification.
 */
export async function writeReport(
  options: ReportOptions,
  logger: Logger,
  signal: AbortSignal,
): Promise<number> {
  const { metaURI, verification, format, reportValues } = options;
  await using cluster = createClusterClient({
    ...connectionOf('meta', options, { option: 'metaURI', uri: metaURI }),
    option: 'metaURI',
    appName: 'clustersync verifier report',
  });
  const identity = { verification, id: 'report', incarnation: 'report', attempt: undefined };
  const store = { signal, logger, monitor: new VerifierMonitor(), db: metadataDb(cluster) };
  const stores = storesOf(store, identity);
  // If it is unreachable, report that immediately.
  await runCommand(cluster.admin, { hello: 1 }, { signal });
  const summary = await readSummary(stores, identity);
  const { record } = summary;
  if (!record) {
    throw new SyncError('NotFound', `the metadata store holds no verification ${verification}`);
  }
  const report: Report = {
    head: {
      verification,
      attempt: record.attempt,
      status: record.status,
      verdict: record.verdict,
      proof: record.proof,
      error: record.error ? `${record.error.name}: ${record.error.message}` : null,
      generation: record.generation?.number ?? 0,
      startedAt: record.startedAt?.toISOString() ?? null,
      completedAt: record.completedAt?.toISOString() ?? null,
      documentsCompared: summary.compared.documents,
      bytesCompared: summary.compared.bytes,
      mismatchKinds: summary.mismatchCounts.kinds,
      isOverflowing: summary.counts?.isOverflowing ?? false,
    },
    mismatches: mismatchesOf(stores, record, reportValues),
    namespaces: namespacesOf(stores, record),
  };
  const pieces = formatReport(report, format);
  const { output: path } = options;
  // It may contain values of documents.
  if (path !== undefined) await writePrivateFile({ path, option: '--output' }, pieces);
  else for await (const piece of pieces) await writeOut(piece);
  return reportExitCode[record.verdict ?? 'unknown'];
}

async function* mismatchesOf(
  { mismatches }: Stores,
  { run, generation: pass }: VerificationRecord,
  reportValues: boolean,
): AsyncGenerator<MismatchView, void> {
  if (!pass) return;
  let after: string | null | undefined;
  do {
    const page = await mismatches.page(planKey(run, pass), pageLength, after ?? undefined);
    for (const { sourceValue, destinationValue, ...mismatch } of page.mismatches) {
      yield {
        ...mismatch,
        ...(reportValues && sourceValue !== undefined && { sourceValue }),
        ...(reportValues && destinationValue !== undefined && { destinationValue }),
      };
    }
    after = page.next;
  } while (after !== null);
}

async function* namespacesOf(
  stores: Stores,
  record: VerificationRecord,
): AsyncGenerator<NamespaceReport, void> {
  let after = '';
  for (;;) {
    const rows = await namespaceReports(stores, record, { after, limit: pageLength });
    yield* rows;
    const last = rows.at(-1);
    if (!last || rows.length < pageLength) return;
    after = last.namespace;
  }
}
