import { askPrimary, askServer } from './ask-server.ts';
import { maxHeldMs } from './lost-writes.ts';
import { connectionsOfOthers } from './own-operations.ts';
import { countOnRouters, type AskedCluster } from './router-addresses.ts';

/**
 * The connections of a process that worked under the same name before. It may have been killed while the network, or a router,
 * held one of its writes: as long as the server considers that connection open, the write may still arrive.
 */
export class FormerConnections {
  readonly #name: { readonly appName: string; readonly mark: string };
  #firstAskedAtMs: number | undefined;
  #areGone = false;

  /** @param mark - in the platform field that this process's connections send, and in no other's. */
  constructor(appName: string, mark: string) {
    this.#name = { appName, mark };
  }

  /** This process has taken the place of the one before: whatever that one has sent arrives within 30 s from now. */
  takeOver(): void {
    this.#firstAskedAtMs ??= performance.now();
  }

  /**
   * How many of them the primary, or any router, considers open, until there were none once, or 30 s after the first question
   * or the takeover.
   */
  async count(cluster: AskedCluster, signal: AbortSignal): Promise<number> {
    this.takeOver();
    this.#areGone ||= performance.now() - (this.#firstAskedAtMs ?? 0) > maxHeldMs;
    if (this.#areGone) return 0;
    const { admin, decoded, routers } = cluster;
    const count = routers.areThere
      ? await countOnRouters(routers.all, signal, async (address) => {
          return await connectionsOfOthers(askServer(decoded, address), this.#name, signal);
        })
      : await connectionsOfOthers(askPrimary(admin), this.#name, signal);
    this.#areGone = count === 0;
    return count;
  }
}
