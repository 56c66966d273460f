import assert from 'node:assert/strict';
import type { SyncerProcess } from '../../ground/syncer-process.ts';
import { TcpProxy } from '../../ground/tcp-proxy.ts';
import type { ClusterPair } from './cluster-pair.ts';
import { byRole, instancesOf, type Instances } from './instances.ts';

/** Two instances, and a proxy between each and the primary of the destination. */
export interface ProxiedInstances extends AsyncDisposable {
  readonly instances: Instances;
  /** Waits until both can commit and one coordinates. Returns that one, what stands in front of the destination, and the same of the other. */
  roles(): Promise<{
    readonly coordinator: SyncerProcess;
    readonly proxy: TcpProxy;
    readonly other: SyncerProcess;
    readonly otherProxy: TcpProxy;
  }>;
}

/** Starts two instances for a replica set, each with its own connection to the destination. */
export async function startProxied(
  pair: Pick<ClusterPair, 'syncer' | 'destination'>,
): Promise<ProxiedInstances> {
  await using stack = new AsyncDisposableStack();
  const { set } = pair.destination;
  const member = await set.primary();
  const proxies = new Map<SyncerProcess, TcpProxy>();
  for (const instance of [0, 1]) {
    const uri = new URL(set.directUri('syncer', member));
    const proxy = stack.use(await TcpProxy.start(Number(uri.port)));
    uri.port = String(proxy.port);
    const options = { ids: 'syncer-0,syncer-1', instance };
    proxies.set(await pair.syncer({ cluster1: uri.href, options }), proxy);
  }
  const instances = stack.use(instancesOf([...proxies.keys()]));
  const moved = stack.move();
  return {
    instances,
    roles: async () => {
      await instances.waitFor(({ canCommit }) => canCommit);
      const [coordinator, other] = await byRole(instances);
      assert.ok(coordinator && other);
      const [proxy, otherProxy] = [proxies.get(coordinator), proxies.get(other)];
      assert.ok(proxy && otherProxy);
      return { coordinator, proxy, other, otherProxy };
    },
    [Symbol.asyncDispose]: async () => {
      await moved.disposeAsync();
    },
  };
}
