import { TcpProxy } from '../tcp-proxy.ts';
import { startReplicaSet, type Member, type ReplicaSet } from './replica-set.ts';
import type { ReplicaSetOptions } from './replica-set.ts';

/** A replica set whose members are known by the addresses of proxies before them. */
export interface ProxiedReplicaSet extends AsyncDisposable {
  readonly set: ReplicaSet;
  /** What stands before a member. Its failures are seen by one program alone, not by the other members, nor by tests. */
  proxy(member: Member): TcpProxy;
  readonly proxies: readonly TcpProxy[];
}

/** How a syncer names itself to a server, in the first message of each connection. */
export const syncerAppName = Buffer.from('clustersync syncer');

const appNames = { syncer: syncerAppName, verifier: Buffer.from('clustersync verifier') };

/** Starts a replica set with a proxy before each member, so that the network of a program can be made to fail. */
export async function startProxiedReplicaSet(
  options: Omit<ReplicaSetOptions, 'front'>,
  program: keyof typeof appNames = 'syncer',
): Promise<ProxiedReplicaSet> {
  const proxies = new Map<string, TcpProxy>();
  const close = async (): Promise<void> => {
    for (const proxy of proxies.values()) await proxy[Symbol.asyncDispose]();
  };
  try {
    const set = await startReplicaSet({
      ...options,
      front: async (port) => {
        const proxy = await TcpProxy.start(port, (bytes) => bytes.includes(appNames[program]));
        // A name, as deployments have: what the network shows of a connection is another address.
        const address = `localhost:${proxy.port}`;
        proxies.set(address, proxy);
        return address;
      },
    });
    return {
      set,
      proxies: [...proxies.values()],
      proxy({ address }) {
        const proxy = proxies.get(address);
        if (!proxy) throw new Error(`${address} is not a member`);
        return proxy;
      },
      [Symbol.asyncDispose]: async () => {
        await set.stop();
        await close();
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}
