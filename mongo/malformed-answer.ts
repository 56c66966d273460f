import { BSON, MongoNetworkError } from 'mongodb';
import { asError } from '../service/errors.ts';

/**
 * What a server has sent is no message of MongoDB's protocol, or holds what is no BSON: the server is faulty or hostile, or something on
 * the way changes what passes. It counts as a connection that has broken, since nothing is known of what follows there.
 */
export class MalformedAnswer extends MongoNetworkError {
  readonly #what: string;
  readonly #isOfServer: boolean;

  /**
   * @param what - it has sent, as `a message of 3 bytes`.
   * @param server - `<host>:<port>`, where that is known.
   */
  constructor(what: string, server?: string, cause?: Error) {
    super(`${server ?? 'a server'} has sent ${what}`, cause && { cause });
    this.#what = what;
    this.#isOfServer = server !== undefined;
  }

  /** The same, told of a server, where it is not told of one already. */
  of(server: string): MalformedAnswer {
    if (this.#isOfServer) return this;
    return new MalformedAnswer(this.#what, server, this);
  }
}

/**
 * What is made of bytes that a server has sent.
 * @throws MalformedAnswer where they are no BSON, or have more levels than can be read.
 */
export function readingBson<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    // A RangeError: of reading behind the end, or of the stack.
    if (!BSON.BSONError.isBSONError(error) && !(error instanceof RangeError)) throw error;
    throw notBson(error);
  }
}

/** @param reason - what is wrong, by the one that could not read it. */
export function notBson(reason: unknown): MalformedAnswer {
  const cause = asError(reason);
  return new MalformedAnswer(`invalid BSON (${cause.message})`, undefined, cause);
}
