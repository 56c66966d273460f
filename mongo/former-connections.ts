import { askPrimary, askServer } from './ask-server.ts';
import { maxHeldMs } from './lost-writes.ts';
import { connectionsOfOthers } from './own-operations.ts';
import { countOnRouters, type AskedCluster } from './router-addresses.ts';

/**
 * The connections of a process that worked under the same name before. It may have been killed while the network, or a
 * router, held a write of it: as long as the server takes that connection for open, the write may still come.
 */
export class FormerConnections {
  readonly #name: { readonly appName: string; readonly mark: string };
  #firstAskedAtMs: number | undefined;
  #areGone = false;

  /** @param mark - in the platform that this process's connections tell, and in no other's. */
  constructor(appName: string, mark: string) {
    this.#name = { appName, mark };
  }

  /** What they have sent comes within 30 s from now: this process has taken the place of the one before. */
  takeOver(): void {
    this.#firstAskedAtMs ??= performance.now();
  }

  /** How many of them the primary, or any router, takes for open, until they are gone once, or 30 s after it was asked for first, or told of. */
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
