import type { SyncVerificationStatus } from '../api/sync-verification.ts';
import { errorIn, propertyIn, stringIn, type ApiError } from '../operand/http-api.ts';
import type { Observation } from '../operand/observation.ts';
import { operandApi } from '../operand/operand-api.ts';

/** What the operator reads in a verifier's progress. */
export interface VerifierProgress {
  readonly phase: string;
  /** Why the verification cannot go on. */
  readonly error: ApiError | undefined;
  /** Undefined where the tool has no such field, null where it does not know yet. */
  readonly verdict: string | null | undefined;
  /** Its counts of tasks, as they were received. */
  readonly verificationStatus: Readonly<Record<string, unknown>> | undefined;
  /** When what it reports was so, where it does not know the latest; undefined where it does, or does not tell. */
  readonly asOf: string | undefined;
  /** What it has found, summed up; undefined where the tool does not tell. */
  readonly mismatches: MismatchSummary | undefined;
  /** All of it, as it was received, without the mismatches themselves: they tell the `_id`s of documents. */
  readonly raw: Readonly<Record<string, unknown>>;
}

export type MismatchSummary = NonNullable<SyncVerificationStatus['mismatches']>;

/** The commands that the operator sends. */
export type VerifierCommand = 'check' | 'writesOff';

/** The HTTP API of a verifier: parts 2.5 and 4.4 of the contract. */
export const verifierApi = operandApi<VerifierProgress, VerifierCommand>({
  readProgress,
  commandDeadlineMs: 30_000,
  outcomeOf: ({ status, body }) => {
    // What was said before need not be said again: level-triggered commands are repeated.
    if (stringIn(body, 'error') === 'writesOff already set') return { kind: 'taken' };
    const error = errorIn(body, true);
    if (error) return { kind: 'refused', error };
    if (status >= 200 && status < 300) return { kind: 'taken' };
    const description = `HTTP ${status}`;
    return { kind: 'refused', error: { name: 'ErrorReported', description, isLasting: true } };
  },
  unreachableName: 'VerifierUnreachable',
  intervalMs: () => 1_000,
});

/** The object `progress` of an answer, read leniently. */
export function readProgress(progress: unknown): VerifierProgress | undefined {
  const phase = stringIn(progress, 'phase');
  if (phase === undefined) return undefined;
  const verdict = propertyIn(progress, 'verdict');
  const status = propertyIn(progress, 'verificationStatus');
  const { mismatches: _, ...raw } = progress as Readonly<Record<string, unknown>>;
  return {
    phase,
    error: errorOf(progress),
    verdict: typeof verdict === 'string' || verdict === null ? verdict : undefined,
    verificationStatus: isObject(status) ? status : undefined,
    asOf: stringIn(progress, 'asOf')?.slice(0, maxTimeLength),
    mismatches: mismatchesIn(progress),
    raw,
  };
}

/** The progress that a verifier last reported. */
export function progressOf(
  observation: Observation<VerifierProgress, VerifierCommand> | undefined,
): VerifierProgress | undefined {
  return observation?.answer?.kind === 'progress' ? observation.answer.progress : undefined;
}

/** The tasks of a kind in the counts. */
export function countIn(
  { verificationStatus }: Pick<VerifierProgress, 'verificationStatus'>,
  name: string,
): number {
  const count = verificationStatus?.[name];
  return typeof count === 'number' ? count : 0;
}

/** Of an ISO time, whatever a tool sends. */
const maxTimeLength = 64;

/** What the schema of the status has room for. */
const bounds = { kind: { length: 64, rows: 64 }, namespace: { length: 320, rows: 10 } } as const;

function mismatchesIn(progress: unknown): MismatchSummary | undefined {
  const total = propertyIn(progress, 'mismatchCount');
  if (!isCount(total)) return undefined;
  const byKind = countsIn(propertyIn(progress, 'mismatchKinds'), 'kind');
  const namespaces = countsIn(propertyIn(progress, 'mismatchNamespaces'), 'namespace');
  return {
    total,
    byKind: byKind.map(([kind, count]) => ({ kind, count })),
    namespaces: namespaces.map(([namespace, count]) => ({ namespace, count })),
  };
}

/** Rows of a name and a count. What would make the API server refuse the status is left out. */
function countsIn(
  rows: unknown,
  nameField: keyof typeof bounds,
): readonly (readonly [name: string, count: number])[] {
  const { length, rows: maxRows } = bounds[nameField];
  const counts = new Map<string, number>();
  for (const row of Array.isArray(rows) ? (rows as readonly unknown[]) : []) {
    const name = stringIn(row, nameField);
    const count = propertyIn(row, 'count');
    if (name === undefined || name.length > length || !isCount(count)) continue;
    if (counts.size < maxRows) counts.set(name, count);
  }
  return [...counts];
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value);
}

/** `error` of a progress: null, a text, or whatever value the tool puts there. */
function errorOf(progress: unknown): ApiError | undefined {
  const value = propertyIn(progress, 'error');
  if (value === undefined || value === null || value === '') return undefined;
  return errorIn({ error: typeof value === 'string' ? value : JSON.stringify(value) }, true);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
