import type { Db } from 'mongodb';
import { maxHeldMs } from './lost-writes.ts';
import { connectionsOfOthers } from './own-operations.ts';

/**
 * The connections of a process that worked under the same name before. It may have been killed while the network held a
 * write of it: as long as the server takes that connection for open, the write may still come.
 */
export class FormerConnections {
  readonly #appName: string;
  readonly #mark: string;
  #firstAskedAtMs: number | undefined;
  #areGone = false;

  /** @param mark - in the platform that this process's connections tell, and in no other's. */
  constructor(appName: string, mark: string) {
    this.#appName = appName;
    this.#mark = mark;
  }

  /** How many of them the primary takes for open, until they are gone once, or 30 s after it was asked for first. */
  async count(admin: Db, signal: AbortSignal): Promise<number> {
    this.#firstAskedAtMs ??= performance.now();
    this.#areGone ||= performance.now() - this.#firstAskedAtMs > maxHeldMs;
    if (this.#areGone) return 0;
    const count = await connectionsOfOthers(admin, this.#appName, this.#mark, signal);
    this.#areGone = count === 0;
    return count;
  }
}
