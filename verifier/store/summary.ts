import { isDeepStrictEqual } from 'node:util';
import type { NamespacePage } from '../../sync-api/json.ts';
import type { MismatchView } from '../compare/mismatch.ts';
import type { Amount } from '../compare/sides.ts';
import type { ProcessIdentity } from './metadata-store.ts';
import type { MismatchCounts } from './mismatch-store.ts';
import type { LivingProcess } from './process-store.ts';
import { planKey, type TaskCounts, type VerificationRecord } from './records.ts';
import type { Stores } from './stores.ts';

/** How many differences progress shows. */
const maxShown = 20;

/** How many warnings of other processes progress shows. */
const maxWarningsOfOthers = 10;

/** A verification, summed up from the record. */
export interface Summary {
  readonly identity: Pick<ProcessIdentity, 'verification' | 'id'>;
  readonly record: VerificationRecord | undefined;
  /** Of the current pass, or the last one. */
  readonly counts: TaskCounts | undefined;
  readonly waiting: number;
  readonly mismatchCount: number;
  readonly mismatchCounts: MismatchCounts;
  readonly mismatches: readonly MismatchView[];
  /** Compared by all passes together. */
  readonly compared: Amount;
  /** Ids of the processes that work on it. */
  readonly processes: readonly string[];
  /** What the others of them retry, or wait for: each begins with an id. */
  readonly warningsOfOthers: readonly string[];
  /** When it was requested. */
  readonly atMs: number;
  /** False if the metadata store has stopped answering since then: the present state is unknown. */
  readonly isLatest: boolean;
}

/** How often it is read again when a pass has begun meanwhile. */
const maxReads = 3;

/**
 * Reads everything that progress and reports show. If a pass has been planned while it was read, it is read again: its tasks would be
 * neither among those of the pass before, nor among what waits.
 */
export async function readSummary(stores: Stores, identity: Summary['identity']): Promise<Summary> {
  for (let reads = 1; ; reads++) {
    const summary = await readOnce(stores, identity);
    const passOf = (record: Summary['record']) => [record?.run, record?.generation?.number];
    const latest = await stores.verifications.read();
    if (reads === maxReads || isDeepStrictEqual(passOf(latest), passOf(summary.record)))
      return summary;
  }
}

async function readOnce(stores: Stores, identity: Summary['identity']): Promise<Summary> {
  const atMs = Date.now();
  const record = await stores.verifications.read();
  const processes = await stores.processes.living();
  const pass = record?.generation ? planKey(record.run, record.generation) : undefined;
  const counts = pass && (await stores.tasks.counts(pass));
  const mismatchCounts = pass
    ? await stores.mismatches.counts(pass)
    : { kinds: [], namespaces: [] };
  const page = pass ? await stores.mismatches.page(pass, maxShown) : undefined;
  const waits = record?.status === 'running' && record.verdict === null;
  return {
    identity,
    record,
    counts,
    waiting: waits ? await stores.rechecks.count(record.run, pass?.generation ?? -1) : 0,
    mismatchCount: mismatchCounts.kinds.reduce((sum, { count }) => sum + count, 0),
    mismatchCounts,
    mismatches: page?.mismatches ?? [],
    compared: {
      documents: (record?.totals.documents ?? 0) + (counts?.compared.documents ?? 0),
      bytes: (record?.totals.bytes ?? 0) + (counts?.compared.bytes ?? 0),
    },
    processes: processes.map(({ id }) => id).sort(),
    warningsOfOthers: warningsOf(processes.filter(({ id }) => id !== identity.id)),
    atMs,
    isLatest: true,
  };
}

/** Bounded: a verification may have dozens of processes, which often wait for the same. */
function warningsOf(processes: readonly LivingProcess[]): readonly string[] {
  const all = processes
    .toSorted((a, b) => (a.id < b.id ? -1 : 1))
    .flatMap(({ id, warnings }) => warnings.map((warning) => `${id}: ${warning}`));
  const more = all.length - maxWarningsOfOthers;
  return more <= 0
    ? all
    : [...all.slice(0, maxWarningsOfOthers), `${more} more of other processes`];
}

/** The record of one namespace. */
export type NamespaceReport = NamespacePage['namespaces'][number];

/** The namespaces of the current pass, or the last one, in the order of their names. */
export async function namespaceReports(
  { tasks, coverages }: Pick<Stores, 'tasks' | 'coverages'>,
  { run, generation: pass }: VerificationRecord,
  page: { readonly after: string; readonly limit: number },
): Promise<NamespaceReport[]> {
  if (!pass) return [];
  const rows = await tasks.countsByNamespace(planKey(run, pass), page);
  const covered = await coverages.latest(
    run,
    rows.map(({ namespace }) => namespace),
  );
  return rows.map((row) => {
    const found = covered.get(row.namespace);
    if (!found) return { ...row, coverage: null };
    const { hashed, ...compared } = found.read;
    const coverage = {
      generation: found.generation,
      ranges: found.ranges,
      documentsCompared: compared,
      documentsHashed: hashed,
      documentsCounted: found.counted,
    };
    return { ...row, coverage };
  });
}
