import type { RawDocument } from '../../../../mongo/raw-bson.ts';

/** As many sessions as clients may have in use. */
const maxSessions = 10_000;

/**
 * Answers a retried write with what the first try was answered. The router inside mongod cannot take a write's
 * transaction number, so the shards do not know retries. What was not answered well is not kept: it is not retryable.
 */
export class RetriedWrites {
  readonly #sessions = new Map<
    string,
    { readonly number: bigint; readonly answer: Promise<RawDocument> }
  >();

  async once(
    session: string,
    number: bigint,
    run: () => Promise<RawDocument>,
    isGood: (answer: RawDocument) => boolean,
  ): Promise<RawDocument> {
    const known = this.#sessions.get(session);
    if (known?.number === number) return await known.answer;
    const entry = { number, answer: run() };
    this.#sessions.delete(session);
    this.#sessions.set(session, entry);
    const [oldest] = this.#sessions.keys();
    if (this.#sessions.size > maxSessions && oldest !== undefined) this.#sessions.delete(oldest);
    let isKept = false;
    try {
      const answer = await entry.answer;
      isKept = isGood(answer);
      return answer;
    } finally {
      if (!isKept && this.#sessions.get(session) === entry) this.#sessions.delete(session);
    }
  }
}
