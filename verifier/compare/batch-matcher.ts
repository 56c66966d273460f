import { canonicalKey } from '../../mongo/canonical-id.ts';
import type { DocumentList } from '../../mongo/document-list.ts';
import { asBuffer, idElement, type RawDocument } from '../../mongo/raw-bson.ts';
import { firstDifference, otherValue, type FieldDifference } from './document-difference.ts';
import type { Excuse } from './expiry.ts';
import { idBytes, idElementOfKey, idKey, type IdKey } from './id-key.ts';
import type { DocumentDifference } from './mismatch.ts';

/** Differences kept for one batch or one task: any others are only counted. */
export const maxDifferences = 10_000;

/** The documents that differ, and whether there were more than are kept. */
export interface DocumentDifferences {
  readonly found: readonly DocumentDifference[];
  readonly isOverflowing: boolean;
}

/** Documents of the destination whose `_id` is expected, with other bytes. */
interface Surplus {
  count: number;
  /** How many of them would not be differences if surplus copies were excused. */
  excused: number;
  readonly difference: FieldDifference | undefined;
}

/**
 * Matches a batch of the source's documents with those of the destination that belong to the same range or the same
 * ids, by the exact bytes of `_id`. The destination's come in any number of batches, none of which is kept.
 * Several documents may share an `_id`, each on another shard: those of equal bytes belong together.
 * If both come in the same order and are equal, no `_id` is even read; if they come in the same batches, no document is.
 */
export class BatchMatcher {
  readonly #list: DocumentList;
  readonly #isMatched: Uint8Array;
  readonly #excuse: Excuse | undefined;
  readonly #showValues: boolean;
  readonly #found: DocumentDifference[] = [];
  /** The ids that only the destination has, and whether all its documents of that `_id` are excused. */
  readonly #extra = new Map<IdKey, { readonly isExcused: boolean }>();
  readonly #surplus = new Map<IdKey, Surplus>();
  #byId: ReadonlyMap<IdKey, readonly number[]> | undefined;
  /** Made when the first missing document is found. */
  #byCanonical: ReadonlyMap<string, readonly RawDocument[]> | undefined;
  #position = 0;
  #isOverflowing = false;

  /** @param showValues - whether differences include the two values. */
  constructor(
    expected: DocumentList,
    {
      excuse,
      showValues = false,
    }: { readonly excuse?: Excuse | undefined; readonly showValues?: boolean } = {},
  ) {
    this.#list = expected;
    this.#isMatched = new Uint8Array(expected.count);
    this.#excuse = excuse;
    this.#showValues = showValues;
  }

  /** Matches the next documents of the destination. */
  take(list: DocumentList): void {
    // Nothing has been matched yet.
    if (this.#position === 0 && this.#list.cameAs(list)) {
      this.#isMatched.fill(1);
      this.#position = list.count;
      return;
    }
    for (const document of list.documents) {
      if (this.#isExpected(this.#position, document)) this.#isMatched[this.#position++] = 1;
      else this.#takeOther(document);
    }
  }

  /** All differences, once the destination has no more documents. */
  finish(): DocumentDifferences {
    const extraByCanonical = new Map<string, IdKey>();
    for (const key of this.#extra.keys()) {
      extraByCanonical.set(canonicalKey(idElementOfKey(key)), key);
    }
    for (let index = this.#isMatched.indexOf(0); index >= 0;) {
      const document = this.#list.documents[index];
      if (document) this.#addMissing(document, extraByCanonical);
      index = this.#isMatched.indexOf(0, index + 1);
    }
    for (const [id, { isExcused }] of this.#extra) {
      if (!isExcused) this.#add({ kind: 'extraDocument', id });
    }
    for (const [id, { count, excused }] of this.#surplus) {
      for (let number = excused; number < count; number++) {
        this.#add({ kind: 'extraDocument', id, detail: 'another document has this _id' });
      }
    }
    return { found: this.#found, isOverflowing: this.#isOverflowing };
  }

  #takeOther(document: RawDocument): void {
    const key = idKey(document);
    this.#byId ??= indexesById(this.#list.documents);
    const indexes = this.#byId.get(key);
    if (indexes === undefined) {
      if (this.#extra.size < maxDifferences) {
        const areOthers = this.#extra.get(key)?.isExcused ?? true;
        const isExcused = this.#excuse?.(document, 'source') ?? false;
        this.#extra.set(key, { isExcused: areOthers && isExcused });
      } else {
        this.#isOverflowing = true;
      }
      return;
    }
    const index = indexes.find((each) => this.#isExpected(each, document));
    if (index !== undefined) this.#isMatched[index] = 1;
    else this.#addSurplus(key, indexes, document);
    this.#position = (index ?? indexes[0] ?? this.#position) + 1;
  }

  /** True if this document is expected at an index and has not been found there yet. */
  #isExpected(index: number, document: RawDocument): boolean {
    const expected = this.#list.documents[index];
    if (expected === undefined || this.#isMatched[index] === 1) return false;
    return asBuffer(expected).equals(document);
  }

  #addSurplus(key: IdKey, [index = 0]: readonly number[], document: RawDocument): void {
    const expected = this.#list.documents[index];
    const surplus = this.#surplus.get(key) ?? {
      count: 0,
      excused: 0,
      difference: expected && firstDifference(expected, document, this.#showValues),
    };
    surplus.count += 1;
    if (this.#excuse?.(document, 'source') === true) surplus.excused += 1;
    this.#surplus.set(key, surplus);
  }

  #addMissing(document: RawDocument, extraByCanonical: ReadonlyMap<string, IdKey>): void {
    const id = idKey(document);
    const surplus = this.#surplus.get(id);
    if (surplus && surplus.count > 0) {
      surplus.count -= 1;
      const { isOrder, ...difference } = surplus.difference ?? {};
      this.#add({ kind: isOrder ? 'fieldOrder' : 'differentDocument', id, ...difference });
      return;
    }
    const destinationId = extraByCanonical.get(canonicalKey(idElementOfKey(id)));
    const difference = destinationId === undefined ? undefined : idDifference(id, destinationId);
    if (destinationId !== undefined && difference && this.#extra.delete(destinationId)) {
      const { isOrder, ...rest } = difference;
      this.#add({
        kind: isOrder ? 'fieldOrder' : 'differentDocument',
        id,
        destinationId,
        ...rest,
      });
    } else if (!this.#excuse?.(document, 'destination')) {
      const detail = this.#isShared(document) ? 'another document has this _id' : undefined;
      this.#add({ kind: 'missingDocument', id, ...(detail !== undefined && { detail }) });
    }
  }

  /** True if another document of the source has what the server considers the same `_id`, on another shard. */
  #isShared(document: RawDocument): boolean {
    this.#byCanonical ??= Map.groupBy(this.#list.documents, (each) =>
      canonicalKey(idElement(each)),
    );
    return (this.#byCanonical.get(canonicalKey(idElement(document)))?.length ?? 0) > 1;
  }

  #add(difference: DocumentDifference): void {
    if (this.#found.length < maxDifferences) this.#found.push(difference);
    else this.#isOverflowing = true;
  }
}

/** The indexes of the documents of each `_id` in a list. */
function indexesById(documents: readonly RawDocument[]): Map<IdKey, number[]> {
  const indexes = new Map<IdKey, number[]>();
  for (const [index, document] of documents.entries()) {
    const key = idKey(document);
    const others = indexes.get(key);
    if (others) others.push(index);
    else indexes.set(key, [index]);
  }
  return indexes;
}

/** How two ids differ that seem to be the same key; undefined if they are two keys after all (two very large numbers). */
function idDifference(source: IdKey, destination: IdKey): FieldDifference | undefined {
  const difference = firstDifference(idBytes(source), idBytes(destination));
  return difference?.detail === otherValue ? undefined : difference;
}
