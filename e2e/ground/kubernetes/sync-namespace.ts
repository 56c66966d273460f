import type { ClusterSync } from '../../../operator/api/clustersync.ts';
import type { SyncVerification } from '../../../operator/api/sync-verification.ts';
import { clusterDeadlineMs } from '../default-deadline.ts';
import type { Cluster, ResourceWaitOptions } from './cluster.ts';

/** For methods that wait. */
export type WaitOptions = Omit<ResourceWaitOptions, 'namespace'>;

/** A namespace with syncs in it, used as a person with kubectl would use it. Disposing of it deletes it. */
export class SyncNamespace implements AsyncDisposable {
  readonly name: string;
  readonly #cluster: Cluster;

  private constructor(cluster: Cluster, name: string) {
    this.#cluster = cluster;
    this.name = name;
  }

  /** Creates the namespace, in place of one that was left over. It takes restricted pods only. */
  static async create(cluster: Cluster, name: string): Promise<SyncNamespace> {
    const namespace = new SyncNamespace(cluster, name);
    await namespace.#delete();
    const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' };
    await cluster.kubectl(['create', '--filename=-'], {
      input: JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } }),
    });
    return namespace;
  }

  /** Runs kubectl in the namespace. */
  async kubectl(args: readonly string[], input?: string): Promise<string> {
    return await this.#cluster.kubectl(
      [...args, `--namespace=${this.name}`],
      input === undefined ? {} : { input },
    );
  }

  /** Applies a manifest: YAML, or an object. */
  async apply(manifest: string | object): Promise<void> {
    const input = typeof manifest === 'string' ? manifest : JSON.stringify(manifest);
    await this.kubectl(['apply', '--filename=-'], input);
  }

  /** Creates Secrets with connection strings under the key `uri`. */
  async putUris(uris: Readonly<Record<string, string>>): Promise<void> {
    const secrets = Object.entries(uris).map(([name, uri]) => [name, { uri }] as const);
    await this.putSecrets(Object.fromEntries(secrets));
  }

  /** Writes Secrets: for each name, the values of its keys. */
  async putSecrets(
    secrets: Readonly<Record<string, Readonly<Record<string, string>>>>,
  ): Promise<void> {
    const items = Object.entries(secrets).map(([name, stringData]) => ({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name },
      stringData,
    }));
    await this.apply({ apiVersion: 'v1', kind: 'List', items });
  }

  /** Sets `spec.state`. */
  async setState(sync: string, state: ClusterSync['spec']['state']): Promise<void> {
    await this.changeSync(sync, { state });
  }

  /** Changes some fields of the spec. */
  async changeSync(sync: string, spec: Partial<ClusterSync['spec']>): Promise<void> {
    const patch = JSON.stringify({ spec });
    await this.kubectl(['patch', 'clustersync', sync, '--type=merge', `--patch=${patch}`]);
  }

  /** The resource as it is. */
  async sync(name: string): Promise<ClusterSync> {
    return JSON.parse(
      await this.kubectl(['get', 'clustersync', name, '--output=json']),
    ) as ClusterSync;
  }

  /** Watches a ClusterSync until the predicate holds. */
  async untilSync(
    name: string,
    what: string,
    predicate: (sync: ClusterSync) => boolean,
    options: WaitOptions = {},
  ): Promise<ClusterSync> {
    const found = await this.#cluster.waitUntil(
      `clustersync/${name}`,
      what,
      (object) => predicate(object as ClusterSync),
      { ...options, namespace: this.name },
    );
    return found as ClusterSync;
  }

  /** Watches a SyncVerification until it has ended, well or not. */
  async untilVerified(name: string, options: WaitOptions = {}): Promise<SyncVerification> {
    const found = await this.#cluster.waitUntil(
      `syncverification/${name}`,
      'it has ended',
      (object) => {
        const phase = (object as SyncVerification).status?.phase;
        return phase === 'Succeeded' || phase === 'Failed';
      },
      { ...options, namespace: this.name },
    );
    return found as SyncVerification;
  }

  /** Deletes the namespace. What is in it is gone soon after, its syncs at once. */
  async [Symbol.asyncDispose](): Promise<void> {
    const syncs = ['delete', 'syncverifications,clustersyncs', '--all'];
    await this.kubectl(syncs);
    await this.#delete('--wait=false');
  }

  async #delete(...options: readonly string[]): Promise<void> {
    await this.#cluster.kubectl(
      ['delete', 'namespace', this.name, '--ignore-not-found', ...options],
      { deadlineMs: clusterDeadlineMs },
    );
  }
}
