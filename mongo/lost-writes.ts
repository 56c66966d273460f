import { MongoServerError, type MongoClient, type ObjectId } from 'mongodb';
import type { ClusterClient } from './cluster-client.ts';
import { runCommand } from './run-command.ts';
import { openConnections } from './own-operations.ts';

/** A connection that broke before a write on it was answered. */
interface LostConnection {
  /** Another one for each process of a server. */
  readonly processId: string;
  /** The server's number of the connection. */
  readonly connectionId: number;
  readonly lostAtMs: number;
}

const writes = new Set([
  'insert',
  'update',
  'delete',
  'create',
  'createIndexes',
  'collMod',
  'convertToCapped',
  'drop',
  'dropDatabase',
  'dropIndexes',
  'renameCollection',
]);

/** How long a write may come after its connection was given up: a limit of the product, told in docs/limits.md. */
export const maxHeldMs = 30_000;

const maxConnections = 1_000;

/**
 * The writes of a client whose connections broke before they were answered. The network may hold such a write and deliver
 * it when newer ones are done. But it delivers the end of the connection only after it: while the server takes the
 * connection for open, the write may still come.
 */
export class LostWrites {
  readonly #processIds = new Map<string, string>();
  #lost: LostConnection[] = [];

  /** @param client - with `monitorCommands`. */
  constructor(client: MongoClient) {
    client.on('serverDescriptionChanged', ({ address, newDescription }) => {
      const processId = newDescription.topologyVersion?.processId.toHexString();
      if (processId !== undefined) this.#processIds.set(address, processId);
    });
    client.on('commandFailed', ({ address, commandName, serverConnectionId, failure }) => {
      if (!writes.has(commandName) || failure instanceof MongoServerError) return;
      const processId = this.#processIds.get(address);
      if (processId === undefined || serverConnectionId === null) return;
      const connectionId = Number(serverConnectionId);
      this.#lost.push({ processId, connectionId, lostAtMs: performance.now() });
      if (this.#lost.length > maxConnections) this.#lost.shift();
    });
  }

  /**
   * How many connections with lost writes the primary takes for open. Those lost longer than 30 s ago do not count. Other
   * members refuse what comes late.
   */
  async pending(cluster: ClusterClient, signal: AbortSignal): Promise<number> {
    const earliestMs = performance.now() - maxHeldMs;
    this.#lost = this.#lost.filter(({ lostAtMs }) => lostAtMs > earliestMs);
    if (this.#lost.length === 0) return 0;
    const hello = await runCommand(cluster.admin, { hello: 1 }, { signal });
    const { processId } = hello['topologyVersion'] as { processId: ObjectId };
    const isAsked = (lost: LostConnection): boolean => processId.equals(lost.processId);
    const asked = this.#lost.filter(isAsked);
    const ids = asked.map(({ connectionId }) => connectionId);
    const open = ids.length === 0 ? new Set() : await openConnections(cluster.admin, ids, signal);
    const closed = new Set(asked.filter(({ connectionId }) => !open.has(connectionId)));
    this.#lost = this.#lost.filter((lost) => !closed.has(lost));
    return open.size;
  }
}
