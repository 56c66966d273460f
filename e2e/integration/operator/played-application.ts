import { MongoClient } from 'mongodb';
import { pods } from '../../../operator/kube/builtin-resources.ts';
import type { KubeClient } from '../../../operator/kube/client.ts';
import type { KubeObject } from '../../../operator/kube/resource.ts';
import { sleep } from '../../../service/sleep.ts';

const signal = new AbortController().signal;
const labels = { app: 'shop' };
const template = {
  metadata: { labels },
  spec: { containers: [{ name: 'app', image: 'example.dev/app' }] },
};

/** `spec.commit` of an automatic commit that stops it, and is not given up because a fault has cost some seconds. */
export const patientCommit = {
  ...{ mode: 'Automatic', workloads: [{ kind: 'Deployment', name: 'web' }] },
  ...{ maxLagSeconds: 30, deadlineSeconds: 600 },
};

/**
 * A Deployment whose pod writes to a cluster for as long as it is to have one: what its controller and a kubelet would do is
 * played, and the writes are real.
 */
export class PlayedApplication implements AsyncDisposable {
  readonly #client: KubeClient;
  readonly #namespace: string;
  readonly #database: MongoClient;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;
  /** Documents whose insertion was acknowledged. */
  written = 0;
  /** How often its pod was started. */
  starts = 0;
  /** The pod does not end before this is false again. */
  isClinging = false;

  private constructor(client: KubeClient, namespace: string, uri: string) {
    this.#client = client;
    this.#namespace = namespace;
    this.#database = new MongoClient(uri);
    this.#running = this.#run();
  }

  /** Makes the Deployment `web`, with one pod. */
  static async start(
    client: KubeClient,
    namespace: string,
    uri: string,
  ): Promise<PlayedApplication> {
    const path = `/apis/apps/v1/namespaces/${namespace}/deployments`;
    const spec = { replicas: 1, selector: { matchLabels: labels }, template };
    await client.raw({ method: 'POST', path, body: { metadata: { name: 'web' }, spec }, signal });
    return new PlayedApplication(client, namespace, uri);
  }

  /** How many pods it is to have. */
  async size(): Promise<number> {
    const path = `/apis/apps/v1/namespaces/${this.#namespace}/deployments/web/scale`;
    const scale = await this.#client.raw({ method: 'GET', path, signal });
    return (scale as { spec: { replicas?: number } }).spec.replicas ?? 0;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    try {
      await this.#running;
    } finally {
      await this.#database.close();
    }
  }

  async #run(): Promise<void> {
    const pod = { namespace: this.#namespace, name: 'web-1' };
    let isThere = false;
    while (!this.#stop.signal.aborted) {
      const isWanted = (await this.size()) > 0;
      if (isWanted && !isThere) {
        const object = { metadata: { ...pod, labels }, spec: template.spec } as never;
        await this.#client.create<KubeObject>(pods, object, { signal });
        this.starts += 1;
        isThere = true;
      }
      if (isWanted) {
        const items = this.#database.db('shop').collection('items');
        for (let n = 0; n < 5; n++) {
          await items.insertOne({ n: this.written, start: this.starts });
          this.written += 1;
        }
      }
      if (!isWanted && isThere && !this.isClinging) {
        await this.#client.delete(pods, pod, { signal, gracePeriodSeconds: 0 });
        isThere = false;
      }
      await sleep(20, this.#stop.signal).catch(() => undefined);
    }
  }
}
