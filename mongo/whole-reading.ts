import { BSON, type AbstractCursor, type Document } from 'mongodb';
import { SyncError } from '../service/errors.ts';

/** More than any server lists in a database: a million collections, or 100,000 of which each has its own validator. */
const maxMebibytes = 256;

/** Counts the bytes of something that is read completely: a hostile server may send it without end. */
export class WholeReading {
  readonly #what: string;
  #bytes = 0;

  /** @param what - what is read, such as `config.chunks`. */
  constructor(what: string) {
    this.#what = what;
  }

  /** @throws SyncError ServerRefused if it exceeds the limit for such reads. */
  add(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes <= maxMebibytes * 1024 * 1024) return;
    throw new SyncError(
      'ServerRefused',
      `the server has sent more than ${maxMebibytes} MiB of ${this.#what}, which must be read as a whole: find out what has written so much there and remove it, or whether a MongoDB server answers`,
    );
  }
}

/**
 * The documents of a cursor, one by one, for a caller that keeps something of each.
 * @throws SyncError ServerRefused if they do not end.
 */
export async function* boundedDocuments<T extends Document>(
  cursor: AbstractCursor<T>,
): AsyncGenerator<T, void> {
  const reading = new WholeReading(cursor.namespace.toString());
  for await (const document of cursor) {
    reading.add(BSON.calculateObjectSize(document));
    yield document;
  }
}

/** All documents of a cursor. @throws SyncError ServerRefused if they do not end. */
export async function readWhole<T extends Document>(cursor: AbstractCursor<T>): Promise<T[]> {
  const documents: T[] = [];
  for await (const document of boundedDocuments(cursor)) documents.push(document);
  return documents;
}
