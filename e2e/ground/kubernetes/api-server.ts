import { spawn, type ChildProcess } from 'node:child_process';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { openSync, closeSync, readFileSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { createServer, isIPv6, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { KubeConfig } from '@kubernetes/client-node';
import { hostInUrl } from '../../../service/listening.ts';
import { run, type CommandOptions } from '../command.ts';
import { defaultDeadlineMs } from '../default-deadline.ts';
import { hasEnded } from '../has-ended.ts';
import { toolPath } from '../tool-path.ts';

const folderPrefix = 'clustersync-api-server-';

/** Administrators, so that it can be seen who has done something. */
const users = ['admin', 'first', 'second'] as const;
type User = (typeof users)[number];

type Program = 'etcd' | 'kube-apiserver' | 'kube-controller-manager';

/** A request that was to change something. */
export interface AuditedWrite {
  readonly user: string;
  readonly verb: string;
  readonly resource: string;
  /** Of the resource: `status`, for example; empty for the resource itself. */
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  /** Milliseconds since 1970. */
  readonly receivedMs: number;
}

const auditPolicy = `
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules: [{ level: Metadata, verbs: [create, update, patch, delete] }, { level: None }]
`;

/**
 * The Kubernetes API alone: etcd and kube-apiserver on free loopback ports, with throw-away certificates and an
 * administrator's token. No kubelet, and no controllers but those that a test starts: objects are stored, validated and
 * watched, and nothing happens to them. Disposing of it ends the processes and removes their files; they also end when this process does, however
 * that happens, and files that were left behind are removed by the next start.
 */
export class ApiServer implements AsyncDisposable {
  readonly port: number;
  readonly #binary: string;
  readonly #folder: string;
  readonly #tokens: Readonly<Record<User, string>>;
  readonly #etcdPort: number;
  readonly #etcdPeerPort: number;
  readonly #address: string;
  readonly #processes = new Map<Program, ChildProcess>();

  private constructor(setup: {
    readonly binary: string;
    readonly folder: string;
    readonly tokens: Readonly<Record<User, string>>;
    readonly ports: readonly [number, number, number];
    readonly address: string;
  }) {
    this.#binary = setup.binary;
    this.#folder = setup.folder;
    this.#tokens = setup.tokens;
    this.#address = setup.address;
    [this.port, this.#etcdPort, this.#etcdPeerPort] = setup.ports;
  }

  /**
   * Starts both programs; resolves when the API is ready.
   * @param address - that the API listens on, of IPv4 or IPv6.
   */
  static async start(address = '127.0.0.1'): Promise<ApiServer> {
    const binary = toolPath('hyperkube', 'hyperkube');
    await removeLeftovers();
    const folder = await mkdtemp(join(tmpdir(), `${folderPrefix}${process.pid}-`));
    const newToken = (): string => randomBytes(16).toString('hex');
    const tokens = { admin: newToken(), first: newToken(), second: newToken() };
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    await writeFile(
      join(folder, 'service-account.key'),
      privateKey.export({ type: 'pkcs8', format: 'pem' }),
      { mode: 0o600 },
    );
    const rows = users.map((user) => `${tokens[user]},${user},${user},system:masters\n`);
    await writeFile(join(folder, 'tokens.csv'), rows.join(''), { mode: 0o600 });
    await writeFile(join(folder, 'audit-policy.yaml'), auditPolicy);
    const ports = await freePorts();
    const server = new ApiServer({ binary, folder, tokens, ports, address });
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
  config(port = this.port, user: User = 'admin'): KubeConfig {
    const config = new KubeConfig();
    config.loadFromClusterAndUser(
      {
        name: 'test',
        server: `https://${hostInUrl(this.#address)}:${port}`,
        caFile: this.#path('certificates/apiserver.crt'),
        skipTLSVerify: false,
      },
      { name: user, token: this.#tokens[user] },
    );
    return config;
  }

  /** With which it shows who it is; its own authority. */
  async certificate(): Promise<{ readonly cert: Buffer; readonly key: Buffer }> {
    const [cert, key] = await Promise.all([
      readFile(this.#path('certificates/apiserver.crt')),
      readFile(this.#path('certificates/apiserver.key')),
    ]);
    return { cert, key };
  }

  /** Runs kubectl, and returns what it prints. */
  async kubectl(args: readonly string[], options: CommandOptions = {}): Promise<string> {
    const env = { ...options.env, KUBECONFIG: await this.writeKubeConfig() };
    return await run(toolPath('hyperkube', 'kubectl'), args, { ...options, env });
  }

  /** A kubeconfig file, for other programs; through another port where something stands in between. */
  async writeKubeConfig(port = this.port): Promise<string> {
    const path = this.#path(port === this.port ? 'kubeconfig' : `kubeconfig-${port}`);
    await writeFile(path, this.config(port).exportConfig(), { mode: 0o600 });
    return path;
  }

  /** Starts kube-apiserver on the same port and the same etcd, after {@link stopApi}. Resolves when it is ready. */
  async startApi(): Promise<void> {
    this.#spawn('kube-apiserver', [
      `--etcd-servers=http://127.0.0.1:${this.#etcdPort}`,
      `--bind-address=${this.#address}`,
      `--secure-port=${this.port}`,
      `--cert-dir=${this.#path('certificates')}`,
      `--token-auth-file=${this.#path('tokens.csv')}`,
      '--authorization-mode=RBAC',
      `--service-cluster-ip-range=${isIPv6(this.#address) ? 'fd00:10::/112' : '10.0.0.0/24'}`,
      '--service-account-issuer=https://kubernetes.default.svc',
      `--service-account-key-file=${this.#path('service-account.key')}`,
      `--service-account-signing-key-file=${this.#path('service-account.key')}`,
      '--endpoint-reconciler-type=none',
      // As in clusters whose control plane runs in such pods: other rules say who may not create them.
      '--allow-privileged=true',
      // As some clusters have it: who sets an owner reference that blocks a deletion needs a right on the owner.
      '--enable-admission-plugins=OwnerReferencesPermissionEnforcement',
      // Nobody makes the default service accounts here: pods could not be created.
      '--disable-admission-plugins=ServiceAccount',
      '--shutdown-delay-duration=0s',
      '--profiling=false',
      `--audit-policy-file=${this.#path('audit-policy.yaml')}`,
      `--audit-log-path=${this.#path('audit.log')}`,
    ]);
    await this.#untilReady();
  }

  /** Kills kube-apiserver: its connections break, its data stays. */
  async stopApi(): Promise<void> {
    await this.#kill('kube-apiserver');
  }

  /** Starts the garbage collector of Kubernetes, which deletes what belongs to an object that is gone. */
  async startGarbageCollector(): Promise<void> {
    this.#spawn('kube-controller-manager', [
      `--kubeconfig=${await this.writeKubeConfig()}`,
      '--controllers=garbage-collector-controller',
      '--leader-elect=false',
      '--secure-port=0',
      '--profiling=false',
    ]);
  }

  /** All requests so far that were to change something, in the order of their ends. */
  async auditedWrites(): Promise<AuditedWrite[]> {
    const lines = (await readFile(this.#path('audit.log'), 'utf8')).split('\n');
    return lines.filter((line) => line !== '').map(auditedWrite);
  }

  /** Compacts etcd: a watch or a list that needs an earlier version gets the error that it is gone. */
  async compact(): Promise<void> {
    const range = await this.#etcd('range', { key: Buffer.from('/').toString('base64') });
    await this.#etcd('compaction', { revision: range.header.revision, physical: true });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const program of [...this.#processes.keys()].reverse()) await this.#kill(program);
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

  #spawn(program: Program, flags: readonly string[]): void {
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

  async #kill(program: Program): Promise<void> {
    const child = this.#processes.get(program);
    this.#processes.delete(program);
    if (!child || hasEnded(child)) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }

  async #untilReady(): Promise<void> {
    const deadline = AbortSignal.timeout(defaultDeadlineMs);
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
        host: this.#address,
        port: this.port,
        path: '/readyz',
        headers: { Authorization: `Bearer ${this.#tokens.admin}` },
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

function auditedWrite(line: string): AuditedWrite {
  const event = JSON.parse(line) as {
    readonly user: { readonly username: string };
    readonly verb: string;
    readonly objectRef: Readonly<Record<string, string>>;
    readonly requestReceivedTimestamp: string;
  };
  const { resource = '', subresource = '', namespace = '', name = '' } = event.objectRef;
  return {
    user: event.user.username,
    verb: event.verb,
    ...{ resource, subresource, namespace, name },
    receivedMs: Date.parse(event.requestReceivedTimestamp),
  };
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
