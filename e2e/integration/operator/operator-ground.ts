import assert from 'node:assert/strict';
import { Registry } from 'prom-client';
import { clusterSyncs, type ClusterSync } from '../../../operator/api/clustersync.ts';
import { syncVerifications } from '../../../operator/api/sync-verification.ts';
import {
  namespaces,
  pods,
  secrets,
  statefulSets,
  type StatefulSet,
} from '../../../operator/kube/builtin-resources.ts';
import { KubeClient } from '../../../operator/kube/client.ts';
import { findCondition } from '../../../operator/kube/conditions.ts';
import { KubeMetrics } from '../../../operator/kube/metrics.ts';
import { controllerOf } from '../../../operator/kube/owner.ts';
import type { KubeObject, Resource } from '../../../operator/kube/resource.ts';
import { startOperator } from '../../../operator/main.ts';
import { overlayFields } from '../../../operator/operand/pod-template.ts';
import { createLogger } from '../../../service/logger.ts';
import { ApiServer } from '../../ground/kubernetes/api-server.ts';
import { startReplicaSet, type ReplicaSet } from '../../ground/mongod/replica-set.ts';
import { until } from '../../ground/until.ts';
import { installDefinitions, makeKeySecret, smallestSpec, uriData } from './custom-resources.ts';
import { LoopbackAddresses } from './loopback-addresses.ts';
import { runPod } from './played-pod.ts';

/** The API server of a test shares its cores with all other tests, and takes longer than a real one at times. */
const call = { signal: new AbortController().signal, deadlineMs: 60_000 };

/** What a test may want of an operator. */
export interface OperatorChoices {
  readonly watchNamespaces?: string;
  readonly dashboard?: boolean;
  readonly dashboardToken?: string;
  readonly docsUrl?: string;
  /** The fields of `podTemplate` that resources may not set; none by default. */
  readonly withoutPodFields?: readonly string[];
  /** Longer than a test waits by default: another one leads only because this one has released its lease. */
  readonly leaseDurationSeconds?: number;
  /** The address of health and metrics. Default 127.0.0.1. */
  readonly host?: string;
}

/** An operator that runs in this process. */
export class RunningOperator implements AsyncDisposable {
  readonly #stop: AbortController;
  readonly #ended: Promise<void>;
  /** Of health and metrics. */
  readonly port: number;
  /** Of the dashboard; absent where there is none. */
  readonly dashboardPort: number | undefined;

  private constructor(
    stop: AbortController,
    ended: Promise<void>,
    ports: Pick<RunningOperator, 'port' | 'dashboardPort'>,
  ) {
    this.#stop = stop;
    this.#ended = ended;
    this.port = ports.port;
    this.dashboardPort = ports.dashboardPort;
  }

  /** Starts one. It listens when this returns; whether it leads by then is open. */
  static async start(
    kubeconfig: string,
    {
      watchNamespaces,
      dashboard = false,
      dashboardToken,
      docsUrl,
      leaseDurationSeconds = 180,
      withoutPodFields = [],
      host = '127.0.0.1',
    }: OperatorChoices = {},
  ): Promise<RunningOperator> {
    const options = {
      kubeconfig,
      watchNamespaces,
      operandImage: 'example.dev/clustersync:test',
      operandImages: 'example.dev/other-tool',
      operandPodFields: overlayFields.filter((path) => !withoutPodFields.includes(path)).join(','),
      operandEgress: undefined,
      operandImagePullPolicy: 'IfNotPresent',
      leaderElect: true,
      leaseDurationSeconds,
      leaseName: 'operator',
      leaseNamespace: 'default',
      apiKeySecret: 'clustersync-operator-api-key',
      host,
      port: 0,
      dashboard,
      dashboardHost: '127.0.0.1',
      dashboardPort: 0,
      dashboardToken,
      docsUrl,
      logLevel: 'fatal',
      config: undefined,
    } as const;
    const logger = createLogger('operator', 'fatal');
    const stop = new AbortController();
    return await new Promise((resolve, reject) => {
      const ended = startOperator(options, logger, stop.signal, (port, dashboardPort) => {
        resolve(new RunningOperator(stop, ended, { port, dashboardPort }));
      });
      ended.catch(reject);
    });
  }

  /** Waits until it has reconciled ClusterSyncs so often again. */
  async passes(count: number): Promise<void> {
    const counted = async (): Promise<number> => {
      const metrics = await (await fetch(`http://127.0.0.1:${this.port}/metrics`)).text();
      const series = /^controller_runtime_reconcile_total\{controller="clustersync".*\} (\d+)$/gm;
      return [...metrics.matchAll(series)].reduce((sum, [, each]) => sum + Number(each), 0);
    };
    const before = await counted();
    await until('some more passes', async () => (await counted()) >= before + count);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort(new Error('stopped'));
    await this.#ended;
  }
}

/** A namespace of one test. */
export interface Place {
  readonly namespace: string;
  /** Of the loopback network: where the pods of this test listen. */
  readonly address: string;
}

/** The Kubernetes API with the custom resources, and what else Kubernetes would do, played where a test asks for it. */
export class OperatorGround implements AsyncDisposable {
  readonly client: KubeClient;
  readonly kubeconfig: string;
  readonly server: ApiServer;
  readonly #source: ReplicaSet;
  readonly #addresses = new LoopbackAddresses();
  #places = 0;

  private constructor(
    server: ApiServer,
    source: ReplicaSet,
    client: KubeClient,
    kubeconfig: string,
  ) {
    this.server = server;
    this.#source = source;
    this.client = client;
    this.kubeconfig = kubeconfig;
  }

  /** @param address - of the API server. Default 127.0.0.1. */
  static async start(address?: string): Promise<OperatorGround> {
    const [server, source] = await Promise.all([
      ApiServer.start(address),
      startReplicaSet({ members: 1, syncerRoles: 'source' }),
    ]);
    const client = new KubeClient(server.config(), new KubeMetrics(new Registry()));
    await installDefinitions(client);
    await makeKeySecret(client);
    return new OperatorGround(server, source, client, await server.writeKubeConfig());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.client[Symbol.dispose]();
    await this.#addresses[Symbol.asyncDispose]();
    await this.#source.stop();
    await this.server[Symbol.asyncDispose]();
  }

  /**
   * A namespace of its own, with the Secrets; and an address for the pods that are played there.
   * @param sourceUri - of the source; a replica set when absent.
   * @param destinationUri - of the destination, which is nowhere when absent.
   */
  async newPlace(sourceUri = this.#source.uri('syncer'), destinationUri?: string): Promise<Place> {
    this.#places += 1;
    const namespace = `ground-${this.#places}`;
    await this.client.create(namespaces, { metadata: { name: namespace } }, call);
    const uris = {
      'old-uri': sourceUri,
      'new-uri': destinationUri ?? `mongodb://user:secret@${namespace}.new-uri.test/`,
    };
    for (const [name, uri] of Object.entries(uris)) {
      await this.#makeSecret(namespace, name, uri);
    }
    return { namespace, address: await this.reserveAddress() };
  }

  /** Another address, for another pod. */
  async reserveAddress(): Promise<string> {
    return await this.#addresses.reserve();
  }

  /** Runs kubectl, and returns what it prints. */
  async kubectl(...args: readonly string[]): Promise<string> {
    return await this.server.kubectl(args);
  }

  /** The same, with something on its standard input. */
  async kubectlWithInput(input: string, ...args: readonly string[]): Promise<string> {
    return await this.server.kubectl(args, { input });
  }

  /** Makes a Secret of a destination that no other ClusterSync has. @returns the part of a spec. */
  async newDestination(namespace: string, name: string): Promise<object> {
    const uri = `mongodb://user:secret@${name}.${namespace}.new-uri/`;
    await this.#makeSecret(namespace, name, uri);
    return { destination: { ...smallestSpec.destination, uriSecretRef: { name } } };
  }

  async #makeSecret(namespace: string, name: string, uri: string): Promise<void> {
    const object = { metadata: { namespace, name }, data: uriData(uri) };
    await this.client.create(secrets, object, call);
  }

  async createSync(namespace: string, spec: object = {}, name = 'orders'): Promise<ClusterSync> {
    const metadata = { namespace, name };
    const object = { metadata, spec: { ...smallestSpec, ...spec } };
    return (await this.client.create<KubeObject>(clusterSyncs, object, call)) as ClusterSync;
  }

  async get<T extends KubeObject>(resource: Resource<T>, namespace: string, name: string) {
    return await this.client.find(resource, { namespace, name }, call);
  }

  /** Waits for a StatefulSet whose owner is there: one of a former owner may be left, or be made late, and is garbage. */
  async untilMade(namespace: string, name: string): Promise<StatefulSet> {
    let found: StatefulSet | undefined;
    try {
      await until(`the StatefulSet ${name} is made`, async () => {
        found = await this.get(statefulSets, namespace, name);
        return found !== undefined && (await this.#hasOwner(found));
      });
    } catch (error) {
      const { items } = await this.client.list(clusterSyncs, { namespace, ...call });
      const said = items.map(({ status }) => status);
      throw new Error(`${String(error)}; it is ${JSON.stringify(said)}`, { cause: error });
    }
    assert.ok(found);
    return found;
  }

  async #hasOwner(object: KubeObject): Promise<boolean> {
    const reference = controllerOf(object);
    assert.ok(reference);
    const owners: Resource<KubeObject> =
      reference.kind === 'ClusterSync' ? clusterSyncs : syncVerifications;
    const owner = await this.get(owners, object.metadata.namespace ?? '', reference.name);
    return owner?.metadata.uid === reference.uid;
  }

  /** Waits until the garbage collector has deleted what belonged to a ClusterSync that is gone. */
  async untilCollected(namespace: string, name = 'orders'): Promise<void> {
    await until(`the ClusterSync ${name} and its objects are gone`, async () => {
      const objects = await Promise.all([
        this.get<KubeObject>(clusterSyncs, namespace, name),
        this.get<KubeObject>(statefulSets, namespace, `${name}-syncer`),
        this.get<KubeObject>(pods, namespace, `${name}-syncer-0`),
      ]);
      return objects.every((object) => object === undefined);
    });
  }

  /** Runs a pod of a StatefulSet, as far as the API shows it. */
  async runPod(
    set: StatefulSet,
    address: string,
    options: Parameters<typeof runPod>[3] = {},
  ): Promise<void> {
    await runPod(this.client, set, address, options);
  }

  /** Changes the spec of the ClusterSync. */
  async patchSync(namespace: string, spec: object, name = 'orders'): Promise<void> {
    await this.client.patch(clusterSyncs, { namespace, name }, { spec }, call);
  }

  async untilSync(
    namespace: string,
    what: string,
    condition: (status: NonNullable<ClusterSync['status']>) => boolean,
    { name = 'orders' }: { readonly name?: string } = {},
  ): Promise<NonNullable<ClusterSync['status']>> {
    let status: ClusterSync['status'];
    try {
      await until(what, async () => {
        status = (await this.get(clusterSyncs, namespace, name))?.status;
        return status !== undefined && condition(status);
      });
    } catch (error) {
      throw new Error(`${String(error)}; it is ${JSON.stringify(status)}`, { cause: error });
    }
    assert.ok(status);
    return status;
  }
}

/** Status and reason of the condition Ready. */
export function readiness(status: ClusterSync['status']): string {
  const ready = findCondition(status?.conditions, 'Ready');
  return `${ready?.status ?? ''} ${ready?.reason ?? ''}`;
}
