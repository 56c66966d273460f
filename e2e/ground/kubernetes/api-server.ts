import { spawn, type ChildProcess } from 'node:child_process';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { openSync, closeSync, readFileSync } from 'node:fs';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { KubeConfig } from '@kubernetes/client-node';
import { run, type CommandOptions } from '../command.ts';
import { toolPath } from '../tool-path.ts';

const folderPrefix = 'clustersync-api-server-';
const readyDeadlineMs = 60_000;

/**
 * The Kubernetes API alone: etcd and kube-apiserver on free loopback ports, with throw-away certificates and an
 * administrator's token. No controllers and no kubelet: objects are stored, validated and watched, and nothing happens
 * to them. Disposing of it ends the processes and removes their files; they also end when this process does, however
 * that happens, and files that were left behind are removed by the next start.
 */
export class ApiServer implements AsyncDisposable {
  readonly port: number;
  readonly #binary: string;
  readonly #folder: string;
  readonly #token: string;
  readonly #etcdPort: number;
  readonly #etcdPeerPort: number;
  readonly #processes = new Map<'etcd' | 'kube-apiserver', ChildProcess>();

  private constructor(setup: {
    readonly binary: string;
    readonly folder: string;
    readonly token: string;
    readonly ports: readonly [number, number, number];
  }) {
    this.#binary = setup.binary;
    this.#folder = setup.folder;
    this.#token = setup.token;
    [this.port, this.#etcdPort, this.#etcdPeerPort] = setup.ports;
  }

  /** Starts both programs; resolves when the API is ready. */
  static async start(): Promise<ApiServer> {
    const binary = toolPath('hyperkube', 'hyperkube');
    await removeLeftovers();
    const folder = await mkdtemp(join(tmpdir(), `${folderPrefix}${process.pid}-`));
    const token = randomBytes(16).toString('hex');
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    await writeFile(
      join(folder, 'service-account.key'),
      privateKey.export({ type: 'pkcs8', format: 'pem' }),
      { mode: 0o600 },
    );
    await writeFile(join(folder, 'tokens.csv'), `${token},admin,admin,system:masters\n`, {
      mode: 0o600,
    });
    const ports = await freePorts();
    const server = new ApiServer({ binary, folder, token, ports });
    try {
      server.#startEtcd();
      await server.startApi();
    } catch (error) {
      await server[Symbol.asyncDispose]();
      throw error;
    }
    return server;
  }

  /** How to reach it, as its administrator; through another port where something stands in between. */
  config(port = this.port): KubeConfig {
    const config = new KubeConfig();
    config.loadFromClusterAndUser(
      {
        name: 'test',
        server: `https://127.0.0.1:${port}`,
        caFile: this.#path('certificates/apiserver.crt'),
        skipTLSVerify: false,
      },
      { name: 'admin', token: this.#token },
    );
    return config;
  }

  /** Runs kubectl, and returns what it prints. */
  async kubectl(args: readonly string[], options: CommandOptions = {}): Promise<string> {
    const env = { ...options.env, KUBECONFIG: await this.writeKubeConfig() };
    return await run(toolPath('hyperkube', 'kubectl'), args, { ...options, env });
  }

  /** A kubeconfig file, for other programs. */
  async writeKubeConfig(): Promise<string> {
    const path = this.#path('kubeconfig');
    await writeFile(path, this.config().exportConfig(), { mode: 0o600 });
    return path;
  }

  /** Starts kube-apiserver on the same port and the same etcd, after {@link stopApi}. Resolves when it is ready. */
  async startApi(): Promise<void> {
    this.#spawn('kube-apiserver', [
      `--etcd-servers=http://127.0.0.1:${this.#etcdPort}`,
      '--bind-address=127.0.0.1',
      `--secure-port=${this.port}`,
      `--cert-dir=${this.#path('certificates')}`,
      `--token-auth-file=${this.#path('tokens.csv')}`,
      '--authorization-mode=RBAC',
      '--service-cluster-ip-range=10.0.0.0/24',
      '--service-account-issuer=https://kubernetes.default.svc',
      `--service-account-key-file=${this.#path('service-account.key')}`,
      `--service-account-signing-key-file=${this.#path('service-account.key')}`,
      '--endpoint-reconciler-type=none',
      // Nobody makes the default service accounts here: pods could not be created.
      '--disable-admission-plugins=ServiceAccount',
      '--shutdown-delay-duration=0s',
      '--profiling=false',
    ]);
    await this.#untilReady();
  }

  /** Kills kube-apiserver: its connections break, its data stays. */
  async stopApi(): Promise<void> {
    await this.#kill('kube-apiserver');
  }

  /** Makes etcd forget all former versions: a watch or a list that needs one is told that it is gone. */
  async compact(): Promise<void> {
    const range = await this.#etcd('range', { key: Buffer.from('/').toString('base64') });
    await this.#etcd('compaction', { revision: range.header.revision, physical: true });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#kill('kube-apiserver');
    await this.#kill('etcd');
    await rm(this.#folder, { recursive: true, force: true });
  }

  #path(name: string): string {
    return join(this.#folder, name);
  }

  #startEtcd(): void {
    const client = `http://127.0.0.1:${this.#etcdPort}`;
    const peer = `http://127.0.0.1:${this.#etcdPeerPort}`;
    this.#spawn('etcd', [
      `--data-dir=${this.#path('etcd')}`,
      '--unsafe-no-fsync',
      `--listen-client-urls=${client}`,
      `--advertise-client-urls=${client}`,
      `--listen-peer-urls=${peer}`,
      `--initial-advertise-peer-urls=${peer}`,
      `--initial-cluster=default=${peer}`,
      '--log-level=warn',
    ]);
  }

  #spawn(program: 'etcd' | 'kube-apiserver', flags: readonly string[]): void {
    const log = openSync(this.#path(`${program}.log`), 'a');
    // setpriv lets the kernel kill the program when this process ends, by whatever means.
    const command = ['--pdeathsig', 'KILL', this.#binary, program, ...flags];
    const child = spawn('setpriv', command, { stdio: ['ignore', log, log] });
    closeSync(log);
    child.on('error', (error) => {
      console.error(`${program} could not be started: ${error.message}`);
    });
    this.#processes.set(program, child);
  }

  async #kill(program: 'etcd' | 'kube-apiserver'): Promise<void> {
    const child = this.#processes.get(program);
    this.#processes.delete(program);
    if (!child || hasEnded(child)) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }

  async #untilReady(): Promise<void> {
    const deadline = AbortSignal.timeout(readyDeadlineMs);
    while (!(await this.#isReady(deadline))) {
      for (const [program, child] of this.#processes) {
        if (!hasEnded(child)) continue;
        const log = readFileSync(this.#path(`${program}.log`), 'utf8');
        throw new Error(`${program} ended before it was ready:\n${log.slice(-2000)}`);
      }
      await sleep(50, undefined, { signal: deadline });
    }
  }

  async #isReady(signal: AbortSignal): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const outgoing = request(
      {
        host: '127.0.0.1',
        port: this.port,
        path: '/readyz',
        headers: { Authorization: `Bearer ${this.#token}` },
        // The certificate is being made at this moment; the readiness of a loopback port is no secret.
        rejectUnauthorized: false,
        agent: false,
        signal,
      },
      (answer) => {
        answer.resume();
        resolve(answer.statusCode === 200);
      },
    );
    outgoing.on('error', () => {
      resolve(false);
    });
    outgoing.end();
    return await promise;
  }

  async #etcd(call: string, body: object): Promise<{ header: { revision: string } }> {
    const answer = await fetch(`http://127.0.0.1:${this.#etcdPort}/v3/kv/${call}`, {
      method: 'POST',
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(10_000),
    });
    if (!answer.ok) throw new Error(`etcd ${call}: ${answer.status} ${await answer.text()}`);
    return (await answer.json()) as { header: { revision: string } };
  }
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null || child.pid === undefined;
}

/** Three ports that were free a moment ago. */
async function freePorts(): Promise<[number, number, number]> {
  const holders = [createServer(), createServer(), createServer()] as const;
  try {
    const [one, two, three] = holders.map(async (holder) => {
      holder.listen(0, '127.0.0.1');
      await once(holder, 'listening');
      return (holder.address() as AddressInfo).port;
    });
    return [(await one) ?? 0, (await two) ?? 0, (await three) ?? 0];
  } finally {
    for (const holder of holders) holder.close();
  }
}

/** Removes the files of processes that ended without doing so. */
async function removeLeftovers(): Promise<void> {
  for (const name of await readdir(tmpdir())) {
    if (!name.startsWith(folderPrefix)) continue;
    const pid = Number.parseInt(name.slice(folderPrefix.length), 10);
    if (isAlive(pid)) continue;
    await rm(join(tmpdir(), name), { recursive: true, force: true });
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
