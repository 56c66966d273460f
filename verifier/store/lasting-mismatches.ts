import { SyncError } from '../../service/errors.ts';
import type { LastingMismatch, MismatchCounts, MismatchSelection } from './mismatch-store.ts';
import type { PassKey, VerificationRecord } from './records.ts';
import type { Stores } from './stores.ts';

type ReadStores = Pick<Stores, 'verifications' | 'mismatches'>;

/** How many namespaces, and differences of namespaces, one answer holds. */
export const maxListed = 1000;

/** The last pass that has ended, whose differences are all known; the first one while it is under way. */
export function reportedPass({ run, generation: pass }: VerificationRecord): PassKey | undefined {
  if (!pass) return undefined;
  const isLatest = pass.noted !== null || pass.number === 0;
  return { run, generation: isLatest ? pass.number : pass.number - 1 };
}

/**
 * The differences that the last pass to end has found, those that have lasted longest first.
 * @throws SyncError CheckFailed once all are read, if later passes have deleted some of them meanwhile.
 */
export async function* lastingMismatches(
  { verifications, mismatches }: ReadStores,
  record: VerificationRecord | undefined,
  selection: MismatchSelection,
  signal: AbortSignal,
): AsyncGenerator<LastingMismatch, void> {
  const pass = record && reportedPass(record);
  if (!pass) return;
  yield* mismatches.lasting(pass, selection, signal);
  const latest = await verifications.read();
  if (latest?.run === pass.run && (latest.generation?.number ?? 0) <= pass.generation + 1) return;
  throw new SyncError(
    'CheckFailed',
    `pass ${pass.generation} was deleted while its differences were read: the list is incomplete; send the request again`,
  );
}

/** The differences that the last pass to end has found, summed up. */
export interface LastingSummary {
  /** At most {@link maxListed} of them. */
  readonly ofNamespaces: readonly LastingMismatch[];
  readonly namespaceKinds: MismatchCounts['kinds'];
  readonly ofDocuments: MismatchCounts;
}

/** Sums up what {@link lastingMismatches} reads, in bounded memory. */
export async function readLastingSummary(
  { mismatches }: ReadStores,
  record: VerificationRecord | undefined,
  minDurationMs: number,
  signal: AbortSignal,
): Promise<LastingSummary> {
  const none = { kinds: [], namespaces: [] };
  const pass = record && reportedPass(record);
  if (!pass) return { ofNamespaces: [], namespaceKinds: [], ofDocuments: none };
  const all = { of: 'namespaces', minDurationMs: 0 } as const;
  const ofNamespaces: LastingMismatch[] = [];
  for await (const mismatch of mismatches.lasting(pass, all, signal)) {
    if (ofNamespaces.push(mismatch) === maxListed) break;
  }
  const { kinds: namespaceKinds } = await mismatches.lastingCounts(pass, all, 1);
  const documents = { of: 'documents', minDurationMs } as const;
  const ofDocuments = await mismatches.lastingCounts(pass, documents, maxListed);
  return { ofNamespaces, namespaceKinds, ofDocuments };
}
