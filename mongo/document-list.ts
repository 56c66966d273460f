import {
  arrayDocuments,
  asBuffer,
  forEachDocument,
  type RawArray,
  type RawDocument,
} from './raw-bson.ts';

/**
 * Documents in the order in which they came. They are cut out of what a server has sent only where somebody asks for one: most
 * are never looked at one by one.
 */
export class DocumentList {
  readonly count: number;
  /** Of all documents together. */
  readonly bytes: number;
  readonly first: RawDocument | undefined;
  readonly last: RawDocument | undefined;
  readonly #array: RawArray | undefined;
  #documents: readonly RawDocument[] | undefined;

  private constructor(
    { count, bytes, first, last }: Pick<DocumentList, 'count' | 'bytes' | 'first' | 'last'>,
    { array, documents }: { array?: RawArray; documents?: readonly RawDocument[] },
  ) {
    this.count = count;
    this.bytes = bytes;
    this.first = first;
    this.last = last;
    this.#array = array;
    this.#documents = documents;
  }

  /** The documents of a BSON array, whose memory they share. */
  static ofArray(array: RawArray): DocumentList {
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
    const first = count === 0 ? undefined : array.subarray(firstOffset, firstEnd);
    const last = count === 0 ? undefined : array.subarray(lastOffset, lastOffset + lastLength);
    return new DocumentList({ count, bytes, first, last }, { array });
  }

  static of(documents: readonly RawDocument[]): DocumentList {
    const bytes = documents.reduce((sum, { length }) => sum + length, 0);
    const [first] = documents;
    return new DocumentList(
      { count: documents.length, bytes, first, last: documents.at(-1) },
      { documents },
    );
  }

  get documents(): readonly RawDocument[] {
    this.#documents ??= this.#array ? arrayDocuments({ bytes: this.#array, offset: 0 }) : [];
    return this.#documents;
  }

  /**
   * True where two servers have sent the same documents in the same order, each in one piece. False says nothing: the same
   * documents may have come in other pieces.
   */
  cameAs(other: DocumentList): boolean {
    if (!this.#array || !other.#array) return false;
    return asBuffer(this.#array).equals(other.#array);
  }
}

/** Length of the array, type and name ('0') of its first element. */
const firstOffset = 4 + 1 + 2;
