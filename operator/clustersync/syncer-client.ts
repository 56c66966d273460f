import { callApi, errorIn, propertyIn, stringIn, type ApiTarget } from '../operand/http-api.ts';
import type { OperandApi } from '../operand/monitor.ts';
import type { ProgressAnswer } from '../operand/observation.ts';

/** What the operator reads in the progress of an instance. Other tools leave fields out, and have others. */
export interface SyncerProgress {
  readonly state: string;
  readonly info: string | undefined;
  readonly canCommit: boolean;
  readonly canWrite: boolean | undefined;
  readonly lagTimeSeconds: number | undefined;
  readonly estimatedTotalBytes: number | undefined;
  readonly estimatedCopiedBytes: number | undefined;
  readonly coordinatorID: string | undefined;
  /** As it was received. */
  readonly raw: Readonly<Record<string, unknown>>;
}

/** The commands that the operator sends. */
export type SyncerCommand = 'start' | 'commit';

const progressDeadlineMs = 5_000;
/** start looks at both deployments first, and a commit may wait for that of the other instances. */
const commandDeadlineMs = 150_000;
const runningIntervalMs = 1_000;
const committedIntervalMs = 10_000;

/** The HTTP API of a syncer: parts 2 and 4 of the contract. */
export const syncerApi: OperandApi<SyncerProgress, SyncerCommand> = {
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
    if (answer.kind === 'json' && propertyIn(answer.body, 'success') === true) {
      return { kind: 'taken' };
    }
    const error = answer.kind === 'json' ? errorIn(answer.body, true) : undefined;
    const description =
      answer.kind === 'json' ? `HTTP ${answer.status} without success` : answer.description;
    return {
      kind: 'refused',
      error: error ?? { name: 'SyncerUnreachable', description, isLasting: false },
    };
  },
  intervalMs: (answer) =>
    answer?.kind === 'progress' && answer.progress.state === 'COMMITTED'
      ? committedIntervalMs
      : runningIntervalMs,
};

/** The body of a progress answer, read leniently. */
export function progressAnswer(
  body: unknown,
): ProgressAnswer<SyncerProgress> | { readonly kind: 'unreachable'; readonly description: string } {
  const progress = readProgress(propertyIn(body, 'progress'));
  if (progress) return { kind: 'progress', progress };
  // A call that fails while a sync is resumed may be repeated: errors that are not known are not taken for the end.
  const error = errorIn(body, false);
  if (error) return { kind: 'error', error };
  return { kind: 'unreachable', description: 'the answer has neither progress nor error' };
}

/** A progress object, as received just now or as it is kept in the status. */
export function readProgress(value: unknown): SyncerProgress | undefined {
  const state = stringIn(value, 'state');
  if (state === undefined) return undefined;
  const canWrite = propertyIn(value, 'canWrite');
  const copy = propertyIn(value, 'collectionCopy');
  return {
    state,
    info: stringIn(value, 'info'),
    canCommit: propertyIn(value, 'canCommit') === true,
    canWrite: typeof canWrite === 'boolean' ? canWrite : undefined,
    lagTimeSeconds: countIn(value, 'lagTimeSeconds'),
    estimatedTotalBytes: countIn(copy, 'estimatedTotalBytes'),
    estimatedCopiedBytes: countIn(copy, 'estimatedCopiedBytes'),
    coordinatorID: stringIn(value, 'coordinatorID'),
    raw: value as Readonly<Record<string, unknown>>,
  };
}

function countIn(value: unknown, name: string): number | undefined {
  const count = propertyIn(value, name);
  return typeof count === 'number' && Number.isFinite(count) && count >= 0
    ? Math.round(count)
    : undefined;
}
