import type { SyncVerificationStatus } from '../api/sync-verification.ts';
import type { ApiError } from '../operand/http-api.ts';
import { isCurrent, type Observation } from '../operand/observation.ts';
import {
  countIn,
  progressOf,
  type MismatchSummary,
  type VerifierCommand,
  type VerifierProgress,
} from './verifier-client.ts';

/** How a verification ended. */
export type Outcome =
  | { readonly kind: 'equal' | 'different'; readonly message: string }
  | { readonly kind: 'error'; readonly error: ApiError };

/** What the outcome follows from. */
interface Situation {
  readonly observation: Observation<VerifierProgress, VerifierCommand> | undefined;
  readonly nowMs: number;
}

type Told = Pick<
  NonNullable<SyncVerificationStatus['verifier']>,
  'checkSentAt' | 'writesOffSentAt'
>;

/** How the verification ended; undefined while it goes on. */
export function outcomeOf(
  { observation, nowMs }: Situation,
  { checkSentAt, writesOffSentAt }: Told,
): Outcome | undefined {
  if (!observation || !isCurrent(observation, nowMs)) return undefined;
  const progress = progressOf(observation);
  if (!progress || checkSentAt === undefined) return undefined;
  if (progress.error) return { kind: 'error', error: progress.error };
  if (progress.phase !== 'idle' || progress.verdict === null) return undefined;
  if (progress.verdict !== undefined) return verdictOf(progress, progress.verdict === 'equal');
  // Without a verdict idle means the end only when the verifier was asked after it knew that writes have stopped.
  const isAskedAfter =
    writesOffSentAt !== undefined && observation.askedMs > Date.parse(writesOffSentAt) + 1_000;
  if (!isAskedAfter) return undefined;
  const failures = countIn(progress, 'failedTasks') + countIn(progress, 'metadataMismatchTasks');
  return verdictOf(progress, failures === 0);
}

function verdictOf(progress: VerifierProgress, isEqual: boolean): Outcome {
  if (isEqual) return { kind: 'equal', message: 'the data of both deployments is equal' };
  return { kind: 'different', message: differenceText(progress) };
}

function differenceText(progress: VerifierProgress): string {
  const { mismatches } = progress;
  if (mismatches) return mismatchText(mismatches);
  const failed = countIn(progress, 'failedTasks');
  const ofMetadata = countIn(progress, 'metadataMismatchTasks');
  return `${failed} of ${countIn(progress, 'totalTasks')} tasks found a difference; ${ofMetadata} found one of options, views or indexes`;
}

/** How many kinds and namespaces a message has room for. */
const maxListed = 3;

function mismatchText({ total, byKind = [], namespaces = [] }: MismatchSummary): string {
  const kinds = byKind.toSorted((one, other) => other.count - one.count);
  const listed = (rows: readonly string[]): string =>
    rows.slice(0, maxListed).join(', ') + (rows.length > maxListed ? ', ...' : '');
  return [
    `${total} ${total === 1 ? 'mismatch' : 'mismatches'}`,
    ...(kinds.length > 0 ? [`: ${listed(kinds.map((each) => `${each.count} ${each.kind}`))}`] : []),
    ...(namespaces.length > 0
      ? [`; in ${listed(namespaces.map((each) => `${each.namespace} ${each.count}`))}`]
      : []),
  ].join('');
}
