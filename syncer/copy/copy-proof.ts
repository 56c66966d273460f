import type { Document } from 'mongodb';
import { encodeSpec } from '../../mongo/specification.ts';
import type {
  CopyEvidence,
  Partition,
  StoredPartition,
  TrackedCollection,
} from '../store/records.ts';
import { namespaceText } from '../../mongo/namespace.ts';
import { forEachConcurrently } from '../../service/concurrency.ts';
import { SyncError } from '../../service/errors.ts';
import type { TrackedCatalog } from '../store/tracked-catalog.ts';
import type { WorkStore } from '../store/work-store.ts';
import type { RangeCopier } from './copy-range.ts';

/** What the store proves of the copy of a collection. */
export type CopyProof =
  | { readonly kind: 'proven' }
  /** These ranges are missing from the partitions, or not recorded as copied; `recorded` is how many partitions there are. */
  | { readonly kind: 'gaps'; readonly gaps: readonly Partition[]; readonly recorded: number }
  /** No part is recorded, or the records contradict each other. */
  | { readonly kind: 'nothing'; readonly reason: string };

/**
 * Judges the copy of a collection only from its stored records. A collection that was not partitioned is recorded as a whole.
 * If it was partitioned, every partition is recorded as copied, the first is open below, the last open above, and each begins
 * with the bound that ends the one before. Such a chain leaves no `_id` out, in whatever order the server compares them: the
 * range of an `_id` ends at the first bound that it is below, or else at the open end. So this needs to know neither the order
 * of BSON types nor that of a collation.
 */
export function proofOf({ collection, isCopied, partitions }: CopyEvidence): CopyProof {
  if (partitions === null)
    return isCopied
      ? { kind: 'proven' }
      : { kind: 'nothing', reason: 'it is not recorded as copied' };
  const gaps: Partition[] = [];
  let last: StoredPartition | undefined;
  for (const partition of [...partitions].sort((left, right) => left.index - right.index)) {
    const next = last === undefined ? 0 : last.index + 1;
    const isJoined =
      last === undefined ? partition.min === null : isSameBound(last.max, partition.min);
    if (!isJoined) {
      // With an index skipped, a record is missing between the two; otherwise they cannot both be right.
      const isHole = partition.index > next && last?.max !== null && partition.min !== null;
      if (!isHole) return contradiction(last, partition);
      gaps.push({ collection, index: next, min: last?.max ?? null, max: partition.min });
    }
    if (!partition.isCopied) gaps.push(rangeOf(partition));
    last = partition;
  }
  if (last?.max !== null)
    gaps.push({
      collection,
      index: last === undefined ? 0 : last.index + 1,
      min: last?.max ?? null,
      max: null,
    });
  return gaps.length === 0
    ? { kind: 'proven' }
    : { kind: 'gaps', gaps, recorded: partitions.length };
}

function contradiction(last: StoredPartition | undefined, { index }: StoredPartition): CopyProof {
  const reason =
    last === undefined
      ? `partition ${index} is the first and has a lower bound`
      : `partition ${index} does not begin where partition ${last.index} ends`;
  return { kind: 'nothing', reason };
}

function rangeOf({ collection, index, min, max }: StoredPartition): Partition {
  return { collection, index, min, max };
}

/** Two bounds between partitions; an open end joins nothing. */
function isSameBound(left: Document | null, right: Document | null): boolean {
  if (left === null || right === null) return false;
  return Buffer.compare(encodeSpec(left), encodeSpec(right)) === 0;
}

/** How many collections a warning or an error names at most. */
const maxNamed = 5;

/** A collection whose copy is not proven. */
interface Unproven {
  /** Undefined if it is stored, but unknown to this process. */
  readonly collection: TrackedCollection | undefined;
  readonly proof: Exclude<CopyProof, { kind: 'proven' }> | { readonly kind: 'unknown' };
  readonly text: string;
}

/** Proves from the stored state that the copy is complete. */
export class CopyProver {
  readonly #copier: RangeCopier;
  readonly #catalog: TrackedCatalog;
  readonly #store: WorkStore;
  readonly #workers: number;

  /** @param workers - how many unproven collections to copy side by side. */
  constructor(copier: RangeCopier, catalog: TrackedCatalog, store: WorkStore, workers: number) {
    this.#copier = copier;
    this.#catalog = catalog;
    this.#store = store;
    this.#workers = workers;
  }

  /**
   * Makes sure, only from the stored state, that the copy of every collection is complete. A collection without a record of
   * its copy is copied again: as long as no change events are applied, that is as right as it was the first time. Then the
   * state is checked once more.
   * @param collectionCount - how many collections were to be copied.
   * @throws SyncError CopyIncomplete.
   */
  async prove(collectionCount: number | null): Promise<void> {
    const unproven = await this.#findUnproven(collectionCount);
    if (unproven.length === 0) return;
    if (unproven.some(({ proof }) => proof.kind === 'unknown')) throw incomplete(unproven);
    await this.#store.warn(
      `the stored state did not prove that all documents were copied; missing parts are copied again: ${textOf(unproven)}`,
    );
    await forEachConcurrently(unproven, this.#workers, async (one) => {
      await this.#copyAgain(one);
    });
    const rest = await this.#findUnproven(collectionCount);
    if (rest.length > 0) throw incomplete(rest);
  }

  /**
   * Makes sure, only from the stored state, that collections that came to the catalog after the initial copy were copied, too.
   * @throws SyncError CopyIncomplete.
   */
  async requireAllCopied(): Promise<void> {
    const unproven = [...(await this.#store.readCopyEvidence())].flatMap(([key, one]) =>
      judgeStored(this.#catalog.collection(key), one),
    );
    if (unproven.length > 0) throw incomplete(unproven);
  }

  async #findUnproven(collectionCount: number | null): Promise<Unproven[]> {
    const evidence = await this.#store.readCopyEvidence();
    const known = new Map(
      this.#catalog.collections().map((one) => [one.uuid.toHexString(false), one]),
    );
    const keys = new Set([...known.keys(), ...evidence.keys()]);
    const unproven = [...keys].flatMap((key) => judge(known.get(key), evidence.get(key)));
    const hasAll = evidence.size === collectionCount;
    return hasAll || unproven.some(({ proof }) => proof.kind === 'unknown')
      ? unproven
      : [countMismatch(evidence.size, collectionCount), ...unproven];
  }

  async #copyAgain({ collection, proof }: Unproven): Promise<void> {
    if (!collection) return;
    switch (proof.kind) {
      case 'gaps':
        for (const gap of proof.gaps) {
          const bytes = await this.#copier.copyRange(collection, gap, { isRepeated: true });
          await this.#store.putCopiedPartition(gap, bytes);
        }
        return;
      case 'nothing': {
        const bytes = await this.#copier.copyRange(collection, 'all', { isRepeated: true });
        await this.#store.completeUnpartitioned(collection, bytes);
        return;
      }
      case 'unknown':
        return;
    }
  }
}

/** A process that has started since does not know which ones they were. */
function countMismatch(stored: number, collectionCount: number | null): Unproven {
  const text = `${stored} collections are stored, but ${collectionCount ?? 'none'} were to be copied`;
  return { collection: undefined, proof: { kind: 'unknown' }, text };
}

function judge(
  collection: TrackedCollection | undefined,
  evidence: CopyEvidence | undefined,
): Unproven[] {
  if (collection && evidence) return judgeStored(collection, evidence);
  const name = nameOf(collection, evidence);
  const text = `${name} is ${evidence ? 'stored, and not known' : 'no longer stored'}`;
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

/** Judges the stored records of a collection. */
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
