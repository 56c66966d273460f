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
  /** `documentsHashed` of each side were compared only by hash; undefined if the tool does not say. */
  | { readonly kind: 'equal'; readonly documentsHashed: number | undefined }
  | { readonly kind: 'different'; readonly message: string }
  | { readonly kind: 'error'; readonly error: ApiError };

/** What the outcome depends on. */
interface Situation {
  readonly observation: Observation<VerifierProgress, VerifierCommand> | undefined;
  readonly nowMs: number;
}

type Told = Pick<
  NonNullable<SyncVerificationStatus['verifier']>,
  'checkSentAt' | 'writesOffSentAt'
>;

/** How the verification ended; undefined while it runs. */
export function outcomeOf(
  { observation, nowMs }: Situation,
  { checkSentAt, writesOffSentAt }: Told,
): Outcome | undefined {
  if (!observation || !isCurrent(observation, nowMs)) return undefined;
  const progress = progressOf(observation);
  if (!progress || checkSentAt === undefined) return undefined;
  if (progress.error) return { kind: 'error', error: progress.error };
  if (progress.phase !== 'idle' || progress.verdict === null) return undefined;
  if (progress.verdict !== undefined) return verdictOf(progress, progress.verdict);
  // Without a verdict, idle means the end only if the verifier was asked after it knew that writes have stopped.
  const isAskedAfter =
    writesOffSentAt !== undefined && observation.askedMs > Date.parse(writesOffSentAt) + 1_000;
  if (!isAskedAfter) return undefined;
  // A failed task proves a difference; the lack of one does not prove that everything was compared.
  return failuresIn(progress) > 0 ? different(progress) : noVerdict(progress, 'no verdict');
}

/** Accepts as the result only what the tool says and its counts do not contradict. */
function verdictOf(progress: VerifierProgress, verdict: string): Outcome {
  if (verdict === 'different') return different(progress);
  if (verdict === 'equal' && failuresIn(progress) === 0) {
    return { kind: 'equal', documentsHashed: progress.documentsHashed };
  }
  return noVerdict(progress, `the verdict ${JSON.stringify(verdict.slice(0, maxQuotedLength))}`);
}

function failuresIn(progress: VerifierProgress): number {
  return countIn(progress, 'failedTasks') + countIn(progress, 'metadataMismatchTasks');
}

function different(progress: VerifierProgress): Outcome {
  return { kind: 'different', message: differenceText(progress) };
}

function noVerdict(progress: VerifierProgress, given: string): Outcome {
  const description = `the tool has ended: ${failuresIn(progress)} of ${countIn(progress, 'totalTasks')} tasks have failed, and it reports ${given}. This proves neither that the data is equal nor that it differs`;
  return { kind: 'error', error: { name: 'NoVerdict', description, isLasting: true } };
}

/** Longest text of a tool that a message quotes. */
const maxQuotedLength = 100;

function differenceText(progress: VerifierProgress): string {
  const { mismatches } = progress;
  if (mismatches) return mismatchText(mismatches);
  const failed = countIn(progress, 'failedTasks');
  const ofMetadata = countIn(progress, 'metadataMismatchTasks');
  return `${failed} of ${countIn(progress, 'totalTasks')} tasks found a difference; ${ofMetadata} found one of options, views or indexes`;
}

/** How many kinds and namespaces fit into a message. */
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
