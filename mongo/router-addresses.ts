import type { Db, MongoClient } from 'mongodb';
import { isTransient } from './server-errors.ts';

/** The routers of a sharded cluster that a client knows. */
export class RouterAddresses {
  #addresses: readonly string[] = [];

  /** @param client - must not be connected yet. */
  constructor(client: MongoClient) {
    client.on('topologyDescriptionChanged', ({ newDescription: { type, servers } }) => {
      this.#addresses = type === 'Sharded' ? [...servers.keys()] : [];
    });
  }

  /** `<host>:<port>` of each router, reachable or not. */
  get all(): readonly string[] {
    return this.#addresses;
  }

  /** False for a replica set. */
  get areThere(): boolean {
    return this.#addresses.length > 0;
  }
}

/** A cluster whose servers can be asked about the connections that they have: the primary, or each router. */
export interface AskedCluster {
  readonly admin: Db;
  readonly decoded: MongoClient;
  readonly routers: RouterAddresses;
}

/** Adds up the counts of all routers. A router that does not answer counts as one, since it may have something. */
export async function countOnRouters(
  addresses: readonly string[],
  signal: AbortSignal,
  count: (address: string) => Promise<number>,
): Promise<number> {
  const counts = await Promise.all(
    addresses.map(async (address) => {
      try {
        return await count(address);
      } catch (error) {
        signal.throwIfAborted();
        if (!isTransient(error)) throw error;
        return 1;
      }
    }),
  );
  return counts.reduce((sum, one) => sum + one, 0);
}
