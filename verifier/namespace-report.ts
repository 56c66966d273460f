import { planKey } from './lead/lead.ts';
import type { NamespacePage } from '../sync-api/json.ts';
import type { VerificationRecord } from './state/records.ts';
import type { Stores } from './state/stores.ts';

/** What is on record of one namespace. */
export type NamespaceReport = NamespacePage['namespaces'][number];

/** The namespaces of the current pass, or the last one, in the order of their names. */
export async function namespaceReports(
  { tasks, coverages }: Pick<Stores, 'tasks' | 'coverages'>,
  { run, generation }: VerificationRecord,
  page: { readonly after: string; readonly limit: number },
): Promise<NamespaceReport[]> {
  if (!generation) return [];
  const rows = await tasks.countsByNamespace(planKey(run, generation), page);
  const covered = await coverages.latest(
    run,
    rows.map(({ namespace }) => namespace),
  );
  return rows.map((row) => {
    const found = covered.get(row.namespace);
    const coverage = found && {
      generation: found.generation,
      ranges: found.ranges,
      documentsCompared: found.read,
      documentsCounted: found.counted,
    };
    return { ...row, coverage: coverage ?? null };
  });
}
