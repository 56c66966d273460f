import { namespaceText } from '../../mongo/namespace.ts';
import { retrying } from '../../mongo/retrying.ts';
import { forEachConcurrently } from '../../service/concurrency.ts';
import { SyncError } from '../../service/errors.ts';
import type { CopyEvidence, TrackedCollection } from '../store/records.ts';
import type { SyncContext } from '../context/sync-context.ts';
import { proofOf, type CopyProof } from './copy-proof.ts';
import { copyRange } from './copy-range.ts';

/** Collections that a warning or an error names. */
const maxNamed = 5;

/** A collection whose copy is not proven. */
interface Unproven {
  /** Undefined where it is stored and this process does not know it. */
  readonly collection: TrackedCollection | undefined;
  readonly proof: Exclude<CopyProof, { kind: 'proven' }> | { readonly kind: 'unknown' };
  readonly text: string;
}

/**
 * Makes sure, from what is stored alone, that the copy of every collection is complete. What has no record of its copy is
 * copied again: as long as no change events are applied, that is as right as it was the first time. Then it is looked at once
 * more.
 * @param collectionCount - how many collections were to be copied.
 * @throws SyncError CopyIncomplete.
 */
export async function proveCopied(
  context: SyncContext,
  collectionCount: number | null,
): Promise<void> {
  const unproven = await findUnproven(context, collectionCount);
  if (unproven.length === 0) return;
  if (unproven.some(({ proof }) => proof.kind === 'unknown')) throw incomplete(unproven);
  await context.warn(
    `the stored state had no record that all documents were copied; what was missing is copied again: ${textOf(unproven)}`,
  );
  await forEachConcurrently(unproven, context.tuning.copyWorkers, async (one) => {
    await copyAgain(context, one);
  });
  const rest = await findUnproven(context, collectionCount);
  if (rest.length > 0) throw incomplete(rest);
}

/**
 * Makes sure that what came to the catalog after the initial copy was copied, too, from what is stored alone.
 * @throws SyncError CopyIncomplete.
 */
export async function requireAllCopied(context: SyncContext): Promise<void> {
  const unproven = [...(await readEvidence(context))].flatMap(([key, one]) =>
    judgeStored(context.catalog.collection(key), one),
  );
  if (unproven.length > 0) throw incomplete(unproven);
}

async function readEvidence(context: SyncContext): Promise<ReadonlyMap<string, CopyEvidence>> {
  return await retrying(context, 'copy state', async () => await context.store.readCopyEvidence());
}

async function findUnproven(
  context: SyncContext,
  collectionCount: number | null,
): Promise<Unproven[]> {
  const evidence = await readEvidence(context);
  const known = new Map(
    context.catalog.collections().map((one) => [one.uuid.toHexString(false), one]),
  );
  const keys = new Set([...known.keys(), ...evidence.keys()]);
  const unproven = [...keys].flatMap((key) => judge(known.get(key), evidence.get(key)));
  const hasAll = evidence.size === collectionCount;
  return hasAll || unproven.some(({ proof }) => proof.kind === 'unknown')
    ? unproven
    : [countMismatch(evidence.size, collectionCount), ...unproven];
}

/** A process that has begun since then does not know which ones they were. */
function countMismatch(stored: number, collectionCount: number | null): Unproven {
  const text = `${stored} collections are stored, and ${collectionCount ?? 'none'} were to be copied`;
  return { collection: undefined, proof: { kind: 'unknown' }, text };
}

function judge(
  collection: TrackedCollection | undefined,
  evidence: CopyEvidence | undefined,
): Unproven[] {
  if (collection && evidence) return judgeStored(collection, evidence);
  const name = nameOf(collection, evidence);
  const text = `${name} is ${evidence ? 'stored, and not known' : 'not stored any more'}`;
  return [{ collection, proof: { kind: 'unknown' }, text }];
}

function nameOf(
  collection: TrackedCollection | undefined,
  evidence: CopyEvidence | undefined,
): string {
  return collection
    ? namespaceText(collection.namespace)
    : `the collection ${evidence?.collection.toHexString() ?? ''}`;
}

/** Judges what is stored of a collection. */
function judgeStored(
  collection: TrackedCollection | undefined,
  evidence: CopyEvidence,
): Unproven[] {
  const name = nameOf(collection, evidence);
  const proof = proofOf(evidence);
  switch (proof.kind) {
    case 'proven':
      return [];
    case 'gaps':
      return [
        {
          collection,
          proof,
          text: `${name} (${proof.gaps.length} of its ranges; ${proof.recorded} partitions are stored)`,
        },
      ];
    case 'nothing':
      return [{ collection, proof, text: `${name} (all of it: ${proof.reason})` }];
  }
}

async function copyAgain(context: SyncContext, { collection, proof }: Unproven): Promise<void> {
  const { store, catalog, requireLease } = context;
  if (!collection) return;
  const record = async (write: () => Promise<void>): Promise<void> => {
    await retrying(context, 'copy state', async () => {
      requireLease();
      await write();
    });
  };
  switch (proof.kind) {
    case 'gaps':
      for (const gap of proof.gaps) {
        const bytes = await copyRange(context, collection, gap, { isRepeated: true });
        await record(async () => {
          await store.putCopiedPartition(gap, bytes);
        });
      }
      return;
    case 'nothing': {
      const bytes = await copyRange(context, collection, 'all', { isRepeated: true });
      await record(async () => {
        await store.deletePartitions(collection.uuid);
        await catalog.completeCollections([collection], bytes);
      });
      return;
    }
    case 'unknown':
      return;
  }
}

function incomplete(unproven: readonly Unproven[]): SyncError {
  return new SyncError(
    'CopyIncomplete',
    `the stored state does not prove the copy of ${unproven.length} collections: ${textOf(unproven)}`,
  );
}

function textOf(unproven: readonly Unproven[]): string {
  const texts = unproven.slice(0, maxNamed).map(({ text }) => text);
  const more = unproven.length - texts.length;
  return [...texts, ...(more > 0 ? [`and ${more} more`] : [])].join('; ');
}
