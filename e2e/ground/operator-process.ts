import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createGuardedFolder, type GuardedFolder } from './guarded-folder.ts';
import { until } from './until.ts';
import { hasEnded } from './has-ended.ts';
import { freePort } from './free-port.ts';

const program = fileURLToPath(new URL('../../bin/clustersync.ts', import.meta.url));

/** How an operator is started. */
export interface OperatorSetup {
  /** Text of a kubeconfig file. */
  readonly kubeconfig: string;
  /** Options of node. */
  readonly nodeOptions?: readonly string[];
  /** More options of the operator. */
  readonly options?: Readonly<Record<string, string | number>>;
}

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
  static async start({ kubeconfig, nodeOptions = [], options }: OperatorSetup) {
    const folder = await createGuardedFolder();
    const path = join(folder.path, 'kubeconfig');
    await writeFile(path, kubeconfig, { mode: 0o600 });
    const port = await freePort();
    const all = {
      kubeconfig: path,
      port,
      operandImage: 'example.dev/clustersync:test',
      logLevel: 'warn',
      ...options,
    };
    const args = Object.entries(all).map(([name, value]) => `--${name}=${value}`);
    const command = [...nodeOptions, program, 'operator', ...args];
    return new OperatorProcess(folder, folder.spawn(process.execPath, command, 'log'), port);
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  async untilReady(): Promise<void> {
    await until('the operator is ready', async () => await this.isGood('readyz'));
  }

  /** What it answers to a probe of the kubelet; false where it does not listen yet. */
  async isGood(probe: 'readyz' | 'healthz'): Promise<boolean> {
    return (await this.#answer(probe))?.status === 200;
  }

  /** The text of its answer to the probe for readiness; empty where it does not listen yet. */
  async readiness(): Promise<string> {
    return (await this.#answer('readyz'))?.text ?? '';
  }

  /** Its metrics, in the format of Prometheus. */
  async metrics(): Promise<string> {
    const answer = await this.#answer('metrics');
    if (answer) return answer.text;
    throw new Error(`the operator does not answer: ${await this.log()}`);
  }

  /** Undefined where it does not listen. @throws Error with its log if it has ended: waiting for it would be in vain. */
  async #answer(path: string): Promise<{ status: number; text: string } | undefined> {
    try {
      const answer = await fetch(`http://127.0.0.1:${this.#port}/${path}`);
      return { status: answer.status, text: await answer.text() };
    } catch (error) {
      if (!this.hasEnded) return undefined;
      const { exitCode, signalCode } = this.#child;
      const end = String(exitCode ?? signalCode);
      throw new Error(`the operator has ended with ${end}: ${await this.log()}`, { cause: error });
    }
  }

  async log(): Promise<string> {
    return await readFile(join(this.#folder.path, 'log'), 'utf8');
  }

  /** Sends a signal: the default is that with which Kubernetes ends a pod. */
  kill(signal: NodeJS.Signals = 'SIGTERM'): void {
    this.#child.kill(signal);
  }

  get hasEnded(): boolean {
    return hasEnded(this.#child);
  }

  /** Waits for its end. Its exit code; null where a signal has ended it. */
  async ended(): Promise<number | null> {
    if (!this.hasEnded) await once(this.#child, 'exit');
    return this.#child.exitCode;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#folder.remove();
  }
}
