import type { ObjectId } from 'mongodb';
import { openConnections } from './own-operations.ts';
import { askPrimary, askServer, type Ask } from './ask-server.ts';
import { countOnRouters, type AskedCluster } from './router-addresses.ts';
import type { ServerConnection } from './server-connection.ts';

/** A connection that broke before a write on it was answered. */
interface LostConnection extends ServerConnection {
  readonly processId: ObjectId;
  readonly lostAtMs: number;
}

/** How long a write may arrive after its connection was abandoned: a limit of the product, documented in docs/limits.md. */
export const maxHeldMs = 30_000;

const maxConnections = 1_000;

/**
 * The writes of a client whose connections broke before they were answered. The network may hold such a write and deliver it
 * after newer ones are done. But it delivers the end of the connection only after the write: while the server considers the
 * connection open, the write may still arrive.
 */
export class LostWrites {
  #lost: LostConnection[] = [];

  /** Adds a connection that was just lost. A server that does not say which process it is cannot be asked about it. */
  add({ processId, ...connection }: ServerConnection): void {
    if (processId === undefined) return;
    this.#lost.push({ ...connection, processId, lostAtMs: performance.now() });
    if (this.#lost.length > maxConnections) this.#lost.shift();
  }

  /**
   * How many connections with lost writes the primary, or the router that they went to, considers open. Those lost longer than
   * 30 s ago do not count. Other members refuse late writes.
   */
  async pending(cluster: AskedCluster, signal: AbortSignal): Promise<number> {
    const earliestMs = performance.now() - maxHeldMs;
    this.#lost = this.#lost.filter(({ lostAtMs }) => lostAtMs > earliestMs);
    if (this.#lost.length === 0) return 0;
    if (!cluster.routers.areThere)
      return await this.#pendingOn(askPrimary(cluster.admin), this.#lost, signal);
    const addresses = new Set(this.#lost.map(({ address }) => address));
    return await countOnRouters([...addresses], signal, async (address) => {
      const lost = this.#lost.filter((one) => one.address === address);
      return await this.#pendingOn(askServer(cluster.decoded, address), lost, signal);
    });
  }

  async #pendingOn(
    ask: Ask,
    lost: readonly LostConnection[],
    signal: AbortSignal,
  ): Promise<number> {
    const hello = await ask({ hello: 1 }, signal);
    const processId = hello.field('topologyVersion').field('processId').objectId();
    const asked = lost.filter((one) => processId.equals(one.processId));
    const ids = asked.map(({ connectionId }) => connectionId);
    const open = ids.length === 0 ? new Set() : await openConnections(ask, ids, signal);
    const closed = new Set(asked.filter(({ connectionId }) => !open.has(connectionId)));
    this.#lost = this.#lost.filter((one) => !closed.has(one));
    return open.size;
  }
}
