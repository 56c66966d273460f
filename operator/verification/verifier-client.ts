import { errorInText } from '../../sync-api/answer-error.ts';
import { readVerifierCommand } from '../../sync-api/command-answer.ts';
import { readVerification, type MismatchCount } from '../../sync-api/verifier-answers.ts';
import type { SyncVerificationStatus } from '../api/sync-verification.ts';
import { apiError, type ApiError } from '../operand/http-api.ts';
import type { Observation } from '../operand/observation.ts';
import { operandApi } from '../operand/operand-api.ts';

/** The parts of a verifier's progress that the operator reads. */
export interface VerifierProgress {
  readonly phase: string;
  /** Why the verification cannot continue. */
  readonly error: ApiError | undefined;
  /** Undefined if the tool has no such field, null if it does not know yet. */
  readonly verdict: string | null | undefined;
  /** How many documents of each side were compared only by hash; undefined if the tool does not say. */
  readonly documentsHashed: number | undefined;
  /** Its counts of tasks. */
  readonly verificationStatus: Readonly<Record<string, unknown>> | undefined;
  /** The time that the report describes, if the verifier does not know the latest state; undefined if it does, or does not say. */
  readonly asOf: string | undefined;
  readonly warnings: readonly string[];
  /** A summary of its results; undefined if the tool reports none. */
  readonly mismatches: MismatchSummary | undefined;
  /** The whole progress as received, without the mismatches themselves: they reveal the `_id`s of documents. */
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

/** The object `progress` of an answer, as far as it fits into the status. */
export function readProgress(progress: unknown): VerifierProgress | undefined {
  const read = readVerification(progress);
  if (!read) return undefined;
  const { mismatches: _, ...raw } = read.raw;
  const { phase, verdict, documentsHashed, verificationStatus, asOf, warnings, error } = read;
  return {
    ...{ phase, verdict, documentsHashed, warnings, raw },
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

/** The fields that are counts: with others the API server would reject the status. */
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

/** The time, as ISO, from whatever a tool sends. */
const maxTimeLength = 64;

/** The limits of the status's schema. */
const bounds = { kind: { length: 64, rows: 64 }, namespace: { length: 320, rows: 10 } } as const;

/** Leaves out what would make the API server reject the status. */
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
