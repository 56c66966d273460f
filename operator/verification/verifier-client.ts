import { errorIn, propertyIn, stringIn, type ApiError } from '../operand/http-api.ts';
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
  /** All of it, as it was received. */
  readonly raw: Readonly<Record<string, unknown>>;
}

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
  return {
    phase,
    error: errorOf(progress),
    verdict: typeof verdict === 'string' || verdict === null ? verdict : undefined,
    verificationStatus: isObject(status) ? status : undefined,
    raw: progress as Readonly<Record<string, unknown>>,
  };
}

/** The tasks of a kind in the counts. */
export function countIn(
  { verificationStatus }: Pick<VerifierProgress, 'verificationStatus'>,
  name: string,
): number {
  const count = verificationStatus?.[name];
  return typeof count === 'number' ? count : 0;
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
