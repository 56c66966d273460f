import { BSON, MongoNetworkError } from 'mongodb';
import { asError } from '../service/errors.ts';

/**
 * A server has sent something that is not a message of MongoDB's protocol, or holds invalid BSON: the server is faulty or
 * hostile, or something on the way alters messages. It counts as a broken connection, since nothing is known about what follows
 * there.
 */
export class MalformedAnswer extends MongoNetworkError {
  readonly #what: string;
  readonly #isOfServer: boolean;

  /**
   * @param what - what it has sent, such as `a message of 3 bytes`.
   * @param server - `<host>:<port>`, if known.
   */
  constructor(what: string, server?: string, cause?: Error) {
    super(`${server ?? 'a server'} has sent ${what}`, cause && { cause });
    this.#what = what;
    this.#isOfServer = server !== undefined;
  }

  /** The same error with the server's name, unless it already has one. */
  of(server: string): MalformedAnswer {
    if (this.#isOfServer) return this;
    return new MalformedAnswer(this.#what, server, this);
  }
}

/**
 * Runs the reading of bytes that a server has sent.
 * @throws MalformedAnswer if they are not BSON, or have more levels than can be read.
 */
export function readingBson<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    // A RangeError: a read beyond the end, or a stack overflow.
    if (!BSON.BSONError.isBSONError(error) && !(error instanceof RangeError)) throw error;
    throw notBson(error);
  }
}

/** @param reason - what is wrong, according to the reader that failed. */
export function notBson(reason: unknown): MalformedAnswer {
  const cause = asError(reason);
  return new MalformedAnswer(`invalid BSON (${cause.message})`, undefined, cause);
}
