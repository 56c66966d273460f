import { failure } from './command-failure.ts';

/**
 * Blocks the writes of users. Shards take every write of a router for one that may bypass the blocking, so the routers
 * of a cluster hold back what must not reach them. Blocking begins when all writes under way have ended.
 */
export class WriteGate {
  #isBlocked: boolean;
  #writers = 0;
  #changing: Promise<void> | undefined;
  #lastWriterGone: (() => void) | undefined;

  constructor(isBlocked: boolean) {
    this.#isBlocked = isBlocked;
  }

  /** Runs a user's write. @throws CommandFailure UserWritesBlocked */
  async write<T>(run: () => Promise<T>): Promise<T> {
    while (this.#changing) await this.#changing;
    if (this.#isBlocked) throw failure('UserWritesBlocked', 'User writes blocked');
    this.#writers += 1;
    try {
      return await run();
    } finally {
      this.#writers -= 1;
      if (this.#writers === 0) this.#lastWriterGone?.();
    }
  }

  /** Changes the mode of the whole cluster, with no user's write under way. */
  async change(isBlocked: boolean, run: () => Promise<void>): Promise<void> {
    while (this.#changing) await this.#changing;
    const { promise, resolve } = Promise.withResolvers<undefined>();
    this.#changing = promise.then(() => undefined);
    try {
      if (this.#writers > 0) {
        await new Promise<void>((gone) => {
          this.#lastWriterGone = gone;
        });
      }
      await run();
      this.#isBlocked = isBlocked;
    } finally {
      this.#lastWriterGone = undefined;
      this.#changing = undefined;
      resolve(undefined);
    }
  }
}
