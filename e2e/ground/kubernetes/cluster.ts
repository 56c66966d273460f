import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { sleep } from '../../../service/sleep.ts';
import { CommandError, run, type CommandOptions } from '../command.ts';
import { clusterDeadlineMs } from '../default-deadline.ts';

/** A part of the cluster that can be made to fail. */
export type Component =
  | 'containerd'
  | 'coredns'
  | 'etcd'
  | 'kube-apiserver'
  | 'kube-controller-manager'
  | 'kube-proxy'
  | 'kube-scheduler'
  | 'kubelet';

/** For methods that wait for a resource. */
export interface ResourceWaitOptions {
  /** Default `default`. */
  readonly namespace?: string;
  readonly signal?: AbortSignal;
  /** Default: {@link clusterDeadlineMs}. */
  readonly deadlineMs?: number;
}

/** A real Kubernetes cluster of one node, of the checkout's own. */
export interface Cluster {
  readonly kind: 'local' | 'kind';
  readonly kubeconfigPath: string;
  /** The address at which pods reach servers of this machine that listen on it. */
  readonly hostAddress: string;
  /** Paths of the pinned programs. They need `KUBECONFIG`, or `--kubeconfig`. */
  readonly kubectlPath: string;
  readonly helmPath: string;
  /** Runs kubectl and returns its standard output. Rejects with CommandError. */
  kubectl(args: readonly string[], options?: CommandOptions): Promise<string>;
  /** Runs helm and returns its standard output. Rejects with CommandError. */
  helm(args: readonly string[], options?: CommandOptions): Promise<string>;
  /** Builds the image of the sources as they are, where needed, brings it to the node, and returns its name. */
  loadImage(options?: CommandOptions): Promise<string>;
  /** Gives an image that was loaded another name. */
  tagImage(image: string, name: string): Promise<void>;
  /** Sends a signal (default SIGKILL) to a component; one that ends is started again at once. */
  kill(component: Component, signal?: NodeJS.Signals): Promise<void>;
  /** Sends SIGKILL to the process of a pod's container, once it runs: it gets no time to end. It is started again. */
  killContainer(pod: string, options?: ResourceWaitOptions): Promise<void>;
  /**
   * Waits for a resource such as `pod/a` to exist and to fulfil a condition as `kubectl wait --for` takes it, such as
   * `condition=Ready`, `jsonpath={.status.phase}=Running`, `create` or `delete`. Goes on when the API server does not
   * answer.
   */
  waitFor(resource: string, condition: string, options?: ResourceWaitOptions): Promise<void>;
  /**
   * Watches a resource until the predicate holds for it, and returns it as it was then. Goes on when the API server does
   * not answer. An exception of the predicate ends it.
   */
  waitUntil(
    resource: string,
    what: string,
    predicate: (object: unknown) => boolean,
    options?: ResourceWaitOptions,
  ): Promise<unknown>;
  /** What a person wants to see of a namespace after a failed test: resources, events, logs. Never rejects. */
  dump(namespace: string): Promise<string>;
}

/** Bringing a cluster up builds what is missing. */
const upDeadlineMs = 45 * 60_000;
const retryDelayMs = 200;
/** How long a watch lasts at most. */
const watchSeconds = 30;
/** Forbidden too: an API server that has just started does not know all roles yet. */
const apiIsAway =
  /forbidden|refused|unable to connect|connection reset|broken pipe|EOF|TLS handshake|i\/o timeout|connection lost|apiserver not ready|etcdserver|the server is currently unable|not yet ready|no route to host/i;

let cluster: Promise<Cluster> | undefined;

/** The cluster of this checkout, brought up by the first call where it is not up. It stays up: see {@link takeDown}. */
export async function useCluster(options: Pick<CommandOptions, 'signal'> = {}): Promise<Cluster> {
  return await (cluster ??= bringUp(options));
}

/** Takes the cluster of this checkout down, if it is up, and removes all its traces. */
export async function takeDown(): Promise<void> {
  cluster = undefined;
  await script('down.sh', [], { deadlineMs: 120_000 });
}

async function bringUp(options: CommandOptions): Promise<Cluster> {
  const file = await script('up.sh', [], { deadlineMs: upDeadlineMs, ...options });
  return new CheckoutCluster(readSettings(file.trim()));
}

async function script(
  name: string,
  args: readonly string[],
  options: CommandOptions,
): Promise<string> {
  const file = fileURLToPath(new URL(name, import.meta.url));
  return await run(file, args, { showErrors: true, ...options });
}

function readSettings(file: string): ReadonlyMap<string, string> {
  const lines = readFileSync(file, 'utf8').trim().split('\n');
  return new Map(
    lines.map((line) => {
      const at = line.indexOf('=');
      return [line.slice(0, at), line.slice(at + 1)] as const;
    }),
  );
}

class CheckoutCluster implements Cluster {
  readonly kind: 'local' | 'kind';
  readonly kubeconfigPath: string;
  readonly hostAddress: string;
  readonly kubectlPath: string;
  readonly helmPath: string;

  constructor(settings: ReadonlyMap<string, string>) {
    const setting = (name: string): string => {
      const value = settings.get(name);
      if (value === undefined) throw new Error(`the settings of the cluster lack ${name}`);
      return value;
    };
    this.kind = setting('E2E_CLUSTER') === 'kind' ? 'kind' : 'local';
    this.kubeconfigPath = setting('KUBECONFIG');
    this.hostAddress = setting('HOST_ADDRESS');
    this.kubectlPath = setting('KUBECTL');
    this.helmPath = setting('HELM');
  }

  async kubectl(args: readonly string[], options: CommandOptions = {}): Promise<string> {
    return await run(this.kubectlPath, args, this.#withKubeconfig(options));
  }

  async helm(args: readonly string[], options: CommandOptions = {}): Promise<string> {
    return await run(this.helmPath, args, this.#withKubeconfig(options));
  }

  async loadImage(options: CommandOptions = {}): Promise<string> {
    const image = await script('load-image.sh', [], { deadlineMs: 15 * 60_000, ...options });
    return image.trim();
  }

  async tagImage(image: string, name: string): Promise<void> {
    await script('tag-image.sh', [image, name], {});
  }

  async kill(component: Component, signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    await script('kill.sh', [component, signal], {});
  }

  async killContainer(pod: string, options: ResourceWaitOptions = {}): Promise<void> {
    const { namespace = 'default' } = options;
    const path = '{.status.containerStatuses[0].state.running}';
    await this.waitFor(`pod/${pod}`, `jsonpath=${path}`, options);
    const id = '--output=jsonpath={.status.containerStatuses[0].containerID}';
    const answer = await this.kubectl(['get', 'pod', pod, id, `--namespace=${namespace}`]);
    await script('kill-container.sh', [answer.replace('containerd://', '')], {});
  }

  async waitFor(
    resource: string,
    condition: string,
    options: ResourceWaitOptions = {},
  ): Promise<void> {
    const { namespace = 'default', signal, deadlineMs = clusterDeadlineMs } = options;
    const endMs = performance.now() + deadlineMs;
    const conditions = ['create', 'delete'].includes(condition)
      ? [condition]
      : ['create', condition];
    for (const one of conditions) {
      await this.#whileApiIsAway(endMs, signal, async (leftMs) => {
        const args = [
          ...['wait', resource, `--for=${one}`, `--namespace=${namespace}`],
          `--timeout=${Math.max(1, Math.ceil(leftMs))}ms`,
        ];
        await this.kubectl(args, {
          deadlineMs: Math.ceil(leftMs) + 5000,
          ...(signal && { signal }),
        });
      });
    }
  }

  async waitUntil(
    resource: string,
    what: string,
    predicate: (object: unknown) => boolean,
    options: ResourceWaitOptions = {},
  ): Promise<unknown> {
    const { namespace = 'default', signal, deadlineMs = clusterDeadlineMs } = options;
    const deadline = AbortSignal.timeout(deadlineMs);
    const stop = signal ? AbortSignal.any([signal, deadline]) : deadline;
    let last: unknown;
    let seenMs = performance.now();
    try {
      for (;;) {
        for await (const object of this.#watch(resource, namespace, stop)) {
          last = object;
          seenMs = performance.now();
          if (predicate(object)) return object;
        }
        // The watch has ended: the API server went away, or the resource is not there yet.
        await sleep(retryDelayMs, stop);
      }
    } catch (error) {
      if (!deadline.aborted || signal?.aborted === true) throw error;
      const seen = last === undefined ? 'nothing' : JSON.stringify(last, undefined, 2);
      const ago = `${Math.round((performance.now() - seenMs) / 1000)} s ago`;
      throw new Error(
        `${resource}: not within ${deadlineMs} ms: ${what}; last seen ${ago}:\n${seen}`,
        {
          cause: error,
        },
      );
    }
  }

  async dump(namespace: string): Promise<string> {
    const sections: (readonly string[])[] = [
      ['get', 'clustersyncs,syncverifications', '--output=yaml'],
      ['get', 'all,leases,persistentvolumeclaims', '--output=wide'],
      ['get', 'events', '--sort-by=.lastTimestamp'],
      ['describe', 'pods'],
    ];
    const pods = (await this.#tolerant(namespace, ['get', 'pods', '--output=name'])).trim();
    for (const pod of pods.split('\n').filter((line) => line.startsWith('pod/'))) {
      const logs = ['logs', pod, '--all-containers', '--prefix', '--tail=300'];
      sections.push(logs, [...logs, '--previous']);
    }
    const texts = sections.map(async (args) => {
      const text = await this.#tolerant(namespace, args);
      return text.includes('previous terminated container')
        ? ''
        : `--- kubectl ${args.join(' ')}\n${text}\n`;
    });
    return (await Promise.all(texts)).join('');
  }

  /**
   * The resource as it is and then after every change, until the watch ends, for whatever reason. One that has stalled looks like a
   * resource that does not change: therefore each ends after a while, as those of informers do.
   */
  async *#watch(resource: string, namespace: string, signal: AbortSignal): AsyncGenerator {
    signal.throwIfAborted();
    const args = [
      ...['get', resource, `--namespace=${namespace}`, '--watch', '--output=json'],
      `--request-timeout=${watchSeconds}s`,
    ];
    const child = spawn(this.kubectlPath, args, {
      env: { ...process.env, KUBECONFIG: this.kubeconfigPath },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const kill = (): void => {
      child.kill('SIGKILL');
    };
    signal.addEventListener('abort', kill, { once: true });
    try {
      let text = '';
      for await (const line of createInterface(child.stdout)) {
        text += `${line}\n`;
        if (line !== '}') continue;
        yield JSON.parse(text) as unknown;
        text = '';
      }
      signal.throwIfAborted();
    } finally {
      signal.removeEventListener('abort', kill);
      kill();
    }
  }

  async #whileApiIsAway(
    endMs: number,
    signal: AbortSignal | undefined,
    attempt: (leftMs: number) => Promise<void>,
  ): Promise<void> {
    for (;;) {
      const leftMs = endMs - performance.now();
      try {
        await attempt(leftMs);
        return;
      } catch (error) {
        const isAway = error instanceof CommandError && apiIsAway.test(error.standardError);
        if (!isAway || performance.now() > endMs) throw error;
        await sleep(retryDelayMs, signal ?? AbortSignal.timeout(60_000));
      }
    }
  }

  async #tolerant(namespace: string, args: readonly string[]): Promise<string> {
    try {
      return await this.kubectl([...args, `--namespace=${namespace}`], { deadlineMs: 20_000 });
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  }

  #withKubeconfig(options: CommandOptions): CommandOptions {
    return { ...options, env: { ...options.env, KUBECONFIG: this.kubeconfigPath } };
  }
}
