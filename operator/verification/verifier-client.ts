import { errorInText } from '../../sync-api/answer-error.ts';
import { readVerifierCommand } from '../../sync-api/command-answer.ts';
import { readVerification, type MismatchCount } from '../../sync-api/verifier-answers.ts';
import type { SyncVerificationStatus } from '../api/sync-verification.ts';
import { apiError, type ApiError } from '../operand/http-api.ts';
import type { Observation } from '../operand/observation.ts';
import { operandApi } from '../operand/operand-api.ts';

/** What the operator reads in a verifier's progress. */
export interface VerifierProgress {
  readonly phase: string;
  /** Why the verification cannot continue. */
  readonly error: ApiError | undefined;
  /** Undefined where the tool has no such field, null where it does not know yet. */
  readonly verdict: string | null | undefined;
  /** Its counts of tasks. */
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
  readCommand: readVerifierCommand,
  unclearOutcome: (description) => {
    return { kind: 'refused', error: { name: 'ErrorReported', description, isLasting: true } };
  },
  unreachableName: 'VerifierUnreachable',
  intervalMs: () => 1_000,
});

/** The object `progress` of an answer, as far as the status has room for it. */
export function readProgress(progress: unknown): VerifierProgress | undefined {
  const read = readVerification(progress);
  if (!read) return undefined;
  const { mismatches: _, ...raw } = read.raw;
  const { phase, verdict, verificationStatus, asOf, error } = read;
  return {
    ...{ phase, verdict, raw },
    verificationStatus: verificationStatus && countsIn(verificationStatus),
    error: error === undefined ? undefined : apiError(errorInText(error), true),
    asOf: asOf?.slice(0, maxTimeLength),
    mismatches:
      read.mismatchCount === undefined
        ? undefined
        : {
            total: read.mismatchCount,
            byKind: roomFor(read.mismatchKinds, 'kind').map(({ name, count }) => ({
              kind: name,
              count,
            })),
            namespaces: roomFor(read.mismatchNamespaces, 'namespace').map(({ name, count }) => {
              return { namespace: name, count };
            }),
          },
  };
}

/** Those of its fields that are counts: with others the API server would refuse the status. */
function countsIn(counts: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(counts).filter(([, count]) => Number.isSafeInteger(count)),
  );
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

/** What would make the API server refuse the status is left out. */
function roomFor(
  rows: readonly MismatchCount[],
  what: keyof typeof bounds,
): readonly MismatchCount[] {
  const { length, rows: maxRows } = bounds[what];
  const counts = new Map<string, number>();
  for (const { name, count } of rows) {
    if (name.length <= length && counts.size < maxRows) counts.set(name, count);
  }
  return Array.from(counts, ([name, count]) => ({ name, count }));
}
