import {
  arrayDocuments,
  asBuffer,
  forEachDocument,
  type RawArray,
  type RawDocument,
} from './raw-bson.ts';

/** The size of a list, and its ends. */
interface Extent {
  readonly count: number;
  readonly bytes: number;
  readonly first: RawDocument | undefined;
  readonly last: RawDocument | undefined;
}

/**
 * Documents in the order in which they arrived. They are extracted from the server's bytes only on demand: most are never
 * looked at one by one.
 */
export class DocumentList {
  readonly #array: RawArray | undefined;
  #documents: readonly RawDocument[] | undefined;
  #extent: Extent | undefined;

  private constructor(array: RawArray | undefined, documents?: readonly RawDocument[]) {
    this.#array = array;
    this.#documents = documents;
  }

  /** The documents of a BSON array, whose memory they share. */
  static ofArray(array: RawArray): DocumentList {
    return new DocumentList(array);
  }

  static of(documents: readonly RawDocument[]): DocumentList {
    return new DocumentList(undefined, documents);
  }

  get count(): number {
    return this.#measure().count;
  }

  /** Of all documents together. */
  get bytes(): number {
    return this.#measure().bytes;
  }

  get first(): RawDocument | undefined {
    return this.#measure().first;
  }

  get last(): RawDocument | undefined {
    return this.#measure().last;
  }

  get documents(): readonly RawDocument[] {
    this.#documents ??= this.#array ? arrayDocuments({ bytes: this.#array, offset: 0 }) : [];
    return this.#documents;
  }

  /** @throws MalformedAnswer if a document, or their array, does not end where it should. */
  requireWhole(): void {
    this.#measure();
  }

  /**
   * True if two servers have sent the same documents in the same order, each in one piece. False proves nothing: the same
   * documents may have come in other pieces.
   */
  cameAs(other: DocumentList): boolean {
    if (!this.#array || !other.#array) return false;
    return asBuffer(this.#array).equals(other.#array);
  }

  #measure(): Extent {
    this.#extent ??= this.#array ? extentOfArray(this.#array) : extentOf(this.documents);
    return this.#extent;
  }
}

/** Length of the array, type and name ('0') of its first element. */
const firstOffset = 4 + 1 + 2;

/** @throws MalformedAnswer if the array has anything other than documents. */
function extentOfArray(array: RawArray): Extent {
  let count = 0;
  let bytes = 0;
  let firstEnd = 0;
  let lastOffset = 0;
  let lastLength = 0;
  forEachDocument({ bytes: array, offset: 0 }, (offset, length) => {
    count += 1;
    bytes += length;
    lastOffset = offset;
    lastLength = length;
    if (count === 1) firstEnd = offset + length;
  });
  if (count === 0) return extentOf([]);
  const first = array.subarray(firstOffset, firstEnd);
  return { count, bytes, first, last: array.subarray(lastOffset, lastOffset + lastLength) };
}

function extentOf(documents: readonly RawDocument[]): Extent {
  const bytes = documents.reduce((sum, { length }) => sum + length, 0);
  return { count: documents.length, bytes, first: documents[0], last: documents.at(-1) };
}
