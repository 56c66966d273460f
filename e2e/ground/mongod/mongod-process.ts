import { execFile, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFile, stat } from 'node:fs/promises';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { sleep } from '../../../service/sleep.ts';
import type { GuardedFolder } from '../guarded-folder.ts';

/** How mongod says that its address is in use. */
const addressInUseExitCode = 48;

/** The log entry "Waiting for connections". */
const listeningEntry = '"id":23016';

/** Below the ports that systems give to outgoing connections, and below those of Kubernetes services. */
const portRange = { first: 10_000, last: 29_999 };

let binary: Promise<string> | undefined;

/** Path of the mongod that the tests use, downloaded when there is none (see mongod-binary.sh). */
export async function mongodBinary(): Promise<string> {
  binary ??= findBinary();
  return await binary;
}

async function findBinary(): Promise<string> {
  const script = fileURLToPath(new URL('mongod-binary.sh', import.meta.url));
  const { stdout, stderr } = await promisify(execFile)(script);
  process.stderr.write(stderr);
  return stdout.trim();
}

/** What a mongod is started with. */
export interface MongodOptions {
  readonly folder: GuardedFolder;
  /** Unique in the folder: names the data folder and the log. */
  readonly name: string;
  /** All arguments but the port and the data folder. */
  readonly args: readonly string[];
  readonly signal: AbortSignal;
}

/** One mongod, which keeps its port and its data when it is started again. */
export class MongodProcess {
  readonly #folder: GuardedFolder;
  readonly #name: string;
  readonly #args: readonly string[];
  #port = 0;
  #child: ChildProcess | undefined;

  private constructor({ folder, name, args }: MongodOptions) {
    this.#folder = folder;
    this.#name = name;
    this.#args = args;
  }

  /** Starts a mongod on a free port and waits until it accepts connections. */
  static async start(options: MongodOptions): Promise<MongodProcess> {
    const mongod = new MongodProcess(options);
    mkdirSync(join(options.folder.path, options.name));
    for (;;) {
      mongod.#port = randomPort();
      if (await mongod.#launch(options.signal)) return mongod;
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
    const end = once(child, 'exit');
    child.kill(signal);
    if (signal !== 'SIGSTOP' && signal !== 'SIGCONT') await end;
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
    const command = await mongodBinary();
    const logStart = await sizeOf(this.logFile);
    const child = this.#folder.spawn(
      command,
      [
        '--port',
        String(this.#port),
        '--dbpath',
        join(this.#folder.path, this.#name),
        ...this.#args,
      ],
      `${this.#name}.log`,
    );
    this.#child = child;
    for (;;) {
      const log = (await readFile(this.logFile)).subarray(logStart).toString();
      if (log.includes(listeningEntry)) return true;
      if (!this.#isRunning()) {
        if (child.exitCode === addressInUseExitCode) return false;
        throw new Error(
          `mongod ended with ${child.signalCode ?? String(child.exitCode)}:\n${log.slice(-4000)}`,
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
