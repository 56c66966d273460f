import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { freezeProcess } from '../freeze-process.ts';
import { isNewPort } from '../given-ports.ts';
import { sleep } from '../../../service/sleep.ts';
import type { GuardedFolder } from '../guarded-folder.ts';

/** How mongod and mongos say that their address is in use. */
export const addressInUseExitCode = 48;

/**
 * What mongod 6.0 logs before it aborts because another process has begun to listen on its port after both had bound it, which
 * Linux lets two do that do not listen yet (tried: bind, start mongod, listen).
 */
const listenFailedEntry = '"id":31339';

/** Below the ports that systems give to outgoing connections, and below those of Kubernetes services. */
const portRange = { first: 10_000, last: 29_999 };

/** What a server process runs. */
export interface ServerProgram {
  readonly file: string;
  /** One of them must contain the path of the folder. */
  readonly args: (port: number) => readonly string[];
  /** What is in its output when it takes connections. */
  readonly listeningText: string;
}

/** What a server process is started with. */
export interface ServerProcessOptions {
  readonly folder: GuardedFolder;
  /** Unique in the folder: names the log. */
  readonly name: string;
  readonly program: ServerProgram;
  readonly signal: AbortSignal;
}

/** One server, which keeps its port when it is started again. */
export class ServerProcess {
  readonly #folder: GuardedFolder;
  readonly #name: string;
  readonly #program: ServerProgram;
  #port = 0;
  #child: ChildProcess | undefined;

  private constructor({ folder, name, program }: ServerProcessOptions) {
    this.#folder = folder;
    this.#name = name;
    this.#program = program;
  }

  /** Starts a server on a free port and waits until it accepts connections. */
  static async start(options: ServerProcessOptions): Promise<ServerProcess> {
    const server = new ServerProcess(options);
    for (;;) {
      server.#port = randomPort();
      if (!isNewPort(server.#port)) continue;
      if (await server.#launch(options.signal)) return server;
    }
  }

  get port(): number {
    return this.#port;
  }

  /** Undefined while it is not running. */
  get pid(): number | undefined {
    return this.#isRunning() ? this.#child?.pid : undefined;
  }

  /** Path of its log. */
  get logFile(): string {
    return join(this.#folder.path, `${this.#name}.log`);
  }

  /** Sends a signal; waits for the end of the process unless the signal stops or continues it. */
  async kill(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    if (child === undefined || !this.#isRunning()) return;
    if (signal === 'SIGSTOP') {
      freezeProcess(child.pid ?? NaN);
      return;
    }
    if (signal === 'SIGCONT') {
      child.kill(signal);
      return;
    }
    const end = once(child, 'exit');
    child.kill(signal);
    await end;
  }

  /** Starts it again on the same port and data, after stopping it in an orderly way if it runs. */
  async restart(signal: AbortSignal): Promise<void> {
    await this.kill('SIGCONT');
    await this.kill('SIGTERM');
    // Somebody else may hold the port for a moment.
    while (!(await this.#launch(signal))) await sleep(100, signal);
  }

  /** False when the port is taken. */
  async #launch(signal: AbortSignal): Promise<boolean> {
    signal.throwIfAborted();
    const logStart = await sizeOf(this.logFile);
    const { file, args, listeningText } = this.#program;
    const child = this.#folder.spawn(file, args(this.#port), `${this.#name}.log`);
    this.#child = child;
    for (;;) {
      const log = (await readFile(this.logFile)).subarray(logStart).toString();
      if (log.includes(listeningText)) return true;
      if (!this.#isRunning()) {
        const isTaken = child.exitCode === addressInUseExitCode || log.includes(listenFailedEntry);
        if (isTaken) return false;
        throw new Error(
          `${this.#name} ended with ${child.signalCode ?? String(child.exitCode)}:\n${log.slice(-4000)}`,
        );
      }
      await sleep(15, signal);
    }
  }

  #isRunning(): boolean {
    return this.#child?.exitCode === null && this.#child.signalCode === null;
  }
}

function randomPort(): number {
  return portRange.first + Math.floor(Math.random() * (portRange.last - portRange.first + 1));
}

async function sizeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).size;
  } catch {
    return 0;
  }
}
