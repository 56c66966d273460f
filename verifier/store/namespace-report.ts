import type { OfSides } from '../compare/comparison.ts';
import { planKey, type NamespaceCounts, type VerificationRecord } from './records.ts';
import type { Stores } from './stores.ts';

/** What is on record of one namespace. */
export interface NamespaceReport extends NamespaceCounts {
  /** Null where no pass has read all documents yet, and of a view. */
  readonly coverage: {
    /** The latest pass that has read all documents. */
    readonly generation: number;
    readonly ranges: number;
    readonly documentsCompared: OfSides<number>;
    /** Null until they are counted, which is before the verdict `equal` is given. */
    readonly documentsCounted: OfSides<number> | null;
  } | null;
}

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
