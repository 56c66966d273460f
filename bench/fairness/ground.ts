import { Registry } from 'prom-client';
import { ApiServer } from '../../e2e/ground/kubernetes/api-server.ts';
import { until } from '../../e2e/ground/until.ts';
import {
  installDefinitions,
  makeKeySecret,
  smallestSpec,
  uriData,
} from '../../e2e/integration/operator/custom-resources.ts';
import { LoopbackAddresses } from '../../e2e/integration/operator/loopback-addresses.ts';
import { runPod } from '../../e2e/integration/operator/played-pod.ts';
import { clusterSyncs, type ClusterSync } from '../../operator/api/clustersync.ts';
import {
  namespaces,
  secrets,
  statefulSets,
  type StatefulSet,
} from '../../operator/kube/builtin-resources.ts';
import { KubeClient } from '../../operator/kube/client.ts';
import { Informer } from '../../operator/kube/informer.ts';
import { KubeMetrics } from '../../operator/kube/metrics.ts';
import type { KubeObject } from '../../operator/kube/resource.ts';
import { createLogger } from '../../service/logger.ts';

const { signal } = new AbortController();
/** The port of the syncers' API. */
export const syncerPort = 27182;
const deadlineMs = 300_000;
const parallel = 8;

/** Who owns the ClusterSyncs, and where they are. */
export interface Owned {
  readonly namespace: string;
  readonly name: string;
}

/** A real API server with ClusterSyncs in several namespaces; their pods are simulated. */
export class FairnessGround implements AsyncDisposable {
  readonly client: KubeClient;
  readonly kubeconfig: string;
  readonly syncs: Informer<ClusterSync>;
  readonly #addresses: LoopbackAddresses;
  readonly #sets: Informer<StatefulSet>;
  readonly #stack: AsyncDisposableStack;

  private constructor(
    client: KubeClient,
    kubeconfig: string,
    addresses: LoopbackAddresses,
    syncs: Informer<ClusterSync>,
    sets: Informer<StatefulSet>,
    stack: AsyncDisposableStack,
  ) {
    this.client = client;
    this.kubeconfig = kubeconfig;
    this.#addresses = addresses;
    this.syncs = syncs;
    this.#sets = sets;
    this.#stack = stack;
  }

  static async start(): Promise<FairnessGround> {
    await using stack = new AsyncDisposableStack();
    const server = stack.use(await ApiServer.start());
    const client = stack.use(new KubeClient(server.config(), new KubeMetrics(new Registry())));
    await installDefinitions(client);
    await makeKeySecret(client);
    const addresses = stack.use(new LoopbackAddresses());
    const logger = createLogger('bench', 'fatal');
    const syncs = new Informer({ client, logger, resource: clusterSyncs });
    const sets = new Informer({ client, logger, resource: statefulSets });
    const stop = new AbortController();
    const running = Promise.all([syncs.run(stop.signal), sets.run(stop.signal)]);
    stack.defer(async () => {
      stop.abort(new Error('the bench has ended'));
      await running;
    });
    await Promise.all([syncs.synced(signal), sets.synced(signal)]);
    const kubeconfig = server.config(server.port, 'first').exportConfig();
    return new FairnessGround(client, kubeconfig, addresses, syncs, sets, stack.move());
  }

  async reserveAddress(): Promise<string> {
    return await this.#addresses.reserve();
  }

  /** Creates ClusterSyncs in a namespace, each with its own destination. */
  async makeSyncs(
    namespace: string,
    count: number,
    specOf: (index: number) => object = () => ({}),
  ): Promise<Owned[]> {
    await this.client.create(namespaces, { metadata: { name: namespace } }, { signal });
    await this.#makeSecret(namespace, 'old-uri');
    const all = Array.from({ length: count }, (_, index) => {
      return { namespace, name: `sync-${String(index).padStart(4, '0')}` };
    });
    await inParallel(all, async (metadata, index) => {
      await this.#makeSecret(namespace, metadata.name);
      const destination = { ...smallestSpec.destination, uriSecretRef: { name: metadata.name } };
      const spec = { ...smallestSpec, destination, ...specOf(index) };
      await this.client.create<KubeObject>(clusterSyncs, { metadata, spec } as never, { signal });
    });
    return all;
  }

  /** The content of the Secret of a destination. */
  destinationData({ namespace, name }: Owned, user = 'user'): object {
    return uriData(`mongodb://${user}:secret@${name}.${namespace}.new/`);
  }

  /** Waits until their StatefulSets exist, and runs a pod for each. */
  async runPods(all: readonly Owned[], addressOf: (index: number) => string): Promise<void> {
    const setOf = ({ namespace, name }: Owned): StatefulSet | undefined =>
      this.#sets.get(`${namespace}/${name}-syncer`);
    await until('the StatefulSets are made', () => all.every(setOf), deadlineMs);
    await inParallel(all, async (each, index) => {
      const set = setOf(each);
      if (set) await runPod(this.client, set, addressOf(index));
    });
  }

  /** The StatefulSet of a ClusterSync, once it exists. */
  setOf({ namespace, name }: Owned): StatefulSet | undefined {
    return this.#sets.get(`${namespace}/${name}-syncer`);
  }

  async patchSpec(ref: Owned, spec: object): Promise<ClusterSync> {
    return await this.client.patch(clusterSyncs, ref, { spec }, { signal });
  }

  /** Resolves as soon as the watch reports a ClusterSync that matches. */
  async untilSync(
    { namespace, name }: Owned,
    what: string,
    isSo: (sync: ClusterSync) => boolean,
  ): Promise<void> {
    await until(
      `${name}: ${what}`,
      () => {
        const sync = this.syncs.get(`${namespace}/${name}`);
        return sync !== undefined && isSo(sync);
      },
      deadlineMs,
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync();
  }

  async #makeSecret(namespace: string, name: string): Promise<void> {
    const data = uriData(`mongodb://user:secret@${name}.${namespace}.new/`);
    await this.client.create(secrets, { metadata: { namespace, name }, data }, { signal });
  }
}

/** Runs the same for each, several at a time. */
export async function inParallel<T>(
  all: readonly T[],
  task: (each: T, index: number) => Promise<void>,
  atOnce = parallel,
): Promise<void> {
  const rest = all.entries();
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (const [index, each] of rest) await task(each, index);
    }),
  );
}
