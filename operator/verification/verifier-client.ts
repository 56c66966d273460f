import {
  callApi,
  errorIn,
  propertyIn,
  stringIn,
  type ApiError,
  type ApiTarget,
} from '../operand/http-api.ts';
import type { OperandApi } from '../operand/monitor.ts';
import type { ProgressAnswer } from '../operand/observation.ts';

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

const progressDeadlineMs = 5_000;
const commandDeadlineMs = 30_000;
const intervalMs = 1_000;

/** The HTTP API of a verifier: parts 2.5 and 4.4 of the contract. */
export const verifierApi: OperandApi<VerifierProgress, VerifierCommand> = {
  askProgress: async (target, signal) => {
    const answer = await callApi(
      target,
      { method: 'GET', path: '/api/v1/progress', deadlineMs: progressDeadlineMs },
      signal,
    );
    return answer.kind === 'json' ? progressAnswer(answer.body) : answer;
  },
  sendCommand: async (target: ApiTarget, { name, body }, signal) => {
    const answer = await callApi(
      target,
      { method: 'POST', path: `/api/v1/${name}`, body, deadlineMs: commandDeadlineMs },
      signal,
    );
    if (answer.kind === 'unreachable') {
      const { description } = answer;
      return {
        kind: 'refused',
        error: { name: 'VerifierUnreachable', description, isLasting: false },
      };
    }
    // What was said before need not be said again: level-triggered commands are repeated.
    if (stringIn(answer.body, 'error') === 'writesOff already set') return { kind: 'taken' };
    const error = errorIn(answer.body, true);
    if (!error && answer.status >= 200 && answer.status < 300) return { kind: 'taken' };
    const description = `HTTP ${answer.status}`;
    return {
      kind: 'refused',
      error: error ?? { name: 'ErrorReported', description, isLasting: true },
    };
  },
  intervalMs: () => intervalMs,
};

/** The body of a progress answer, read leniently. */
export function progressAnswer(
  body: unknown,
):
  | ProgressAnswer<VerifierProgress>
  | { readonly kind: 'unreachable'; readonly description: string } {
  const progress = propertyIn(body, 'progress');
  const phase = stringIn(progress, 'phase');
  if (phase !== undefined) {
    const verdict = propertyIn(progress, 'verdict');
    const status = propertyIn(progress, 'verificationStatus');
    return {
      kind: 'progress',
      progress: {
        phase,
        error: errorOf(progress),
        verdict: typeof verdict === 'string' || verdict === null ? verdict : undefined,
        verificationStatus: isObject(status) ? status : undefined,
        raw: progress as Readonly<Record<string, unknown>>,
      },
    };
  }
  const error = errorIn(body, false);
  if (error) return { kind: 'error', error };
  return { kind: 'unreachable', description: 'the answer has neither progress nor error' };
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
