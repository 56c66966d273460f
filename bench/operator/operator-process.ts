import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createGuardedFolder, type GuardedFolder } from '../../e2e/ground/guarded-folder.ts';
import { until } from '../../e2e/ground/until.ts';

const program = fileURLToPath(new URL('../../bin/clustersync.ts', import.meta.url));

/** As the chart has it: the second follows from the memory that the pod may have. */
const memoryOptions = ['--max-semi-space-size=4', '--max-old-space-size=256'];

/** The operator in a process of its own. */
export class OperatorProcess implements AsyncDisposable {
  readonly #folder: GuardedFolder;
  readonly #child: ChildProcess;
  readonly #port: number;

  private constructor(folder: GuardedFolder, child: ChildProcess, port: number) {
    this.#folder = folder;
    this.#child = child;
    this.#port = port;
  }

  /** Starts it; waits for nothing. */
  static async start(
    kubeconfig: string,
    nodeOptions: readonly string[] = [],
  ): Promise<OperatorProcess> {
    const folder = await createGuardedFolder();
    const path = join(folder.path, 'kubeconfig');
    await writeFile(path, kubeconfig, { mode: 0o600 });
    const port = await freePort();
    const options = {
      kubeconfig: path,
      port,
      operandImage: 'example.dev/clustersync:bench',
      leaseName: 'bench',
      logLevel: 'warn',
    };
    const args = Object.entries(options).map(([name, value]) => `--${name}=${value}`);
    const command = [...memoryOptions, ...nodeOptions, program, 'operator', ...args];
    return new OperatorProcess(folder, folder.spawn(process.execPath, command, 'log'), port);
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  async untilReady(): Promise<void> {
    await until('the operator listens', async () => {
      return await fetch(`http://127.0.0.1:${this.#port}/readyz`).then(
        ({ status }) => status === 200,
        () => false,
      );
    });
  }

  /** Its metrics, in the format of Prometheus. */
  async metrics(): Promise<string> {
    return await (await fetch(`http://127.0.0.1:${this.#port}/metrics`)).text();
  }

  async log(): Promise<string> {
    return await readFile(join(this.#folder.path, 'log'), 'utf8');
  }

  /** Ends it as Kubernetes does. */
  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGTERM');
    await ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#folder.remove();
  }
}

/** A port that was free a moment ago. */
async function freePort(): Promise<number> {
  const holder = createServer().listen(0, '127.0.0.1');
  await once(holder, 'listening');
  const { port } = holder.address() as AddressInfo;
  await once(holder.close(), 'close');
  return port;
}
