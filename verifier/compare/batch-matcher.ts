import { canonicalKey } from '../../mongo/canonical-id.ts';
import { asBuffer, type RawDocument } from '../../mongo/raw-bson.ts';
import { firstDifference, otherValue, type FieldDifference } from './document-difference.ts';
import { idBytes, idElementOfKey, idKey, type IdKey } from './id-key.ts';
import type { DocumentDifference } from './mismatch.ts';

/** Differences that are kept of one batch or one task: beyond that only their number counts. */
export const maxDifferences = 10_000;

/** The documents that differ, and whether there were more than are kept. */
export interface DocumentDifferences {
  readonly found: readonly DocumentDifference[];
  readonly isOverflowing: boolean;
}

/** Says of a document that is on one side only that this is no difference. */
export type Excuse = (document: RawDocument) => boolean;

/**
 * Matches a batch of the source's documents with those of the destination that belong to the same range or the same
 * ids, by the exact bytes of `_id`. The destination's come in any number of batches; none of them is kept.
 * Where both come in the same order and are equal, no `_id` is even looked at.
 */
export class BatchMatcher {
  readonly #expected: readonly RawDocument[];
  readonly #isMatched: Uint8Array;
  readonly #excuse: Excuse | undefined;
  readonly #found: DocumentDifference[] = [];
  readonly #extra = new Map<IdKey, { readonly isExcused: boolean }>();
  #byId: ReadonlyMap<IdKey, number> | undefined;
  #position = 0;
  #isOverflowing = false;

  constructor(expected: readonly RawDocument[], excuse?: Excuse) {
    this.#expected = expected;
    this.#isMatched = new Uint8Array(expected.length);
    this.#excuse = excuse;
  }

  /** Takes the next documents of the destination. */
  take(documents: readonly RawDocument[]): void {
    for (const document of documents) {
      const expected = this.#expected[this.#position];
      if (expected !== undefined && asBuffer(expected).equals(document)) {
        this.#isMatched[this.#position++] = 1;
      } else {
        this.#takeOther(document);
      }
    }
  }

  /** All differences, once the destination has no more documents. */
  finish(): DocumentDifferences {
    const extraByCanonical = new Map<string, IdKey>();
    for (const key of this.#extra.keys()) {
      extraByCanonical.set(canonicalKey(idElementOfKey(key)), key);
    }
    this.#expected.forEach((document, index) => {
      if (this.#isMatched[index] === 0) this.#addMissing(document, extraByCanonical);
    });
    for (const [id, { isExcused }] of this.#extra) {
      if (!isExcused) this.#add({ kind: 'extraDocument', id });
    }
    return { found: this.#found, isOverflowing: this.#isOverflowing };
  }

  #takeOther(document: RawDocument): void {
    const key = idKey(document);
    this.#byId ??= new Map(this.#expected.map((each, index) => [idKey(each), index]));
    const index = this.#byId.get(key);
    const expected = index === undefined ? undefined : this.#expected[index];
    if (index === undefined || expected === undefined) {
      if (this.#extra.size < maxDifferences) {
        this.#extra.set(key, { isExcused: this.#excuse?.(document) ?? false });
      } else {
        this.#isOverflowing = true;
      }
      return;
    }
    this.#isMatched[index] = 1;
    this.#position = index + 1;
    const difference = firstDifference(expected, document);
    if (difference) this.#add({ kind: 'differentDocument', id: key, ...difference });
  }

  #addMissing(document: RawDocument, extraByCanonical: ReadonlyMap<string, IdKey>): void {
    const id = idKey(document);
    const destinationId = extraByCanonical.get(canonicalKey(idElementOfKey(id)));
    const difference = destinationId === undefined ? undefined : idDifference(id, destinationId);
    if (destinationId !== undefined && difference && this.#extra.delete(destinationId)) {
      this.#add({ kind: 'differentDocument', id, destinationId, ...difference });
    } else if (!this.#excuse?.(document)) {
      this.#add({ kind: 'missingDocument', id });
    }
  }

  #add(difference: DocumentDifference): void {
    if (this.#found.length < maxDifferences) this.#found.push(difference);
    else this.#isOverflowing = true;
  }
}

/** How two ids differ that seem to be one key; undefined where they are two keys after all (two very large numbers). */
function idDifference(source: IdKey, destination: IdKey): FieldDifference | undefined {
  const difference = firstDifference(idBytes(source), idBytes(destination));
  return difference?.detail === otherValue ? undefined : difference;
}
