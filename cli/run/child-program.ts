import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { numberOf, objectOf, textOf, type JsonObject } from '../../service/json-fields.ts';
import type { ApiAddress } from '../api/api-client.ts';
import { SyncError } from '../../service/errors.ts';
import { nodeOptions, nodeOptionsVariable } from '../../service/node-options.ts';
import { orAborted } from '../../service/or-aborted.ts';
import { redact } from '../../service/redact.ts';
import { sleep } from '../../service/sleep.ts';

/** How often a program is restarted that exits unexpectedly; as often again after it has worked for a while. */
const maxRestarts = 5;
const defaultPatience: RestartPatience = { delayMs: 1_000, workedMs: 600_000 };

/** How restarts are paced. */
export interface RestartPatience {
  readonly delayMs: number;
  /** The time after which a program that runs has worked: earlier restarts no longer count. */
  readonly workedMs: number;
}

/** Longer than the orderly shutdown of a program. */
const stopDeadlineMs = 27_000;

const startDeadlineMs = 30_000;

/** How many lines of the log are kept to explain why a program has ended. */
const keptLines = 5;

/** What is run: this executable, with another command. */
export interface ProgramSpec {
  /** For people. */
  readonly name: string;
  readonly command: string;
  /** Its options as environment variables, which no other user can see. */
  readonly env: Readonly<Record<string, string>>;
  readonly apiToken: string;
  /** Receives every line that it logs. */
  readonly onLine: (line: string) => void;
  /** Receives messages for the user. */
  readonly onWarning: (text: string) => void;
}

/**
 * A program in its own process and session, so that Ctrl-C does not reach it. It listens on a free port of
 * the loopback interface. It is restarted if it exits unexpectedly; if its parent is gone, it ends.
 */
export class ChildProgram implements AsyncDisposable {
  readonly #spec: ProgramSpec;
  readonly #stopping = new AbortController();
  #child: ChildProcess | undefined;
  #port: number | undefined;
  #lines: string[] = [];
  #restarts = 0;
  #failure: SyncError | undefined;
  /** Rejected if it never listens. */
  readonly #listening = Promise.withResolvers<undefined>();
  #running = Promise.resolve();

  readonly #patience: RestartPatience;

  private constructor(spec: ProgramSpec, patience: RestartPatience) {
    this.#spec = spec;
    this.#patience = patience;
  }

  /** Starts the program; resolves when its API listens. @throws SyncError InternalError if it does not. */
  static async start(
    spec: ProgramSpec,
    signal: AbortSignal,
    patience = defaultPatience,
  ): Promise<ChildProgram> {
    const program = new ChildProgram(spec, patience);
    program.#running = program.#keepRunning();
    const limited = AbortSignal.any([signal, AbortSignal.timeout(startDeadlineMs)]);
    try {
      await orAborted(program.#listening.promise, limited);
      return program;
    } catch (error) {
      await program[Symbol.asyncDispose]();
      signal.throwIfAborted();
      if (error instanceof SyncError) throw error;
      throw program.#endError('does not start');
    }
  }

  /** The address of its API. @throws SyncError if it has exited too often. */
  get address(): ApiAddress {
    if (this.#failure) throw this.#failure;
    const { apiToken } = this.#spec;
    return {
      url: this.#port === undefined ? undefined : `http://127.0.0.1:${this.#port}`,
      apiToken,
    };
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort();
    this.#child?.kill('SIGTERM');
    const killing = setTimeout(() => this.#child?.kill('SIGKILL'), stopDeadlineMs);
    await this.#running;
    clearTimeout(killing);
  }

  async #keepRunning(): Promise<void> {
    const { signal } = this.#stopping;
    for (;;) {
      const beganAtMs = performance.now();
      const end = await this.#runOnce();
      this.#port = undefined;
      if (signal.aborted) return;
      if (performance.now() - beganAtMs >= this.#patience.workedMs) this.#restarts = 0;
      if (++this.#restarts > maxRestarts) {
        this.#failure = this.#endError(
          `has exited ${this.#restarts} times, most recently with ${end}`,
        );
        this.#listening.reject(this.#failure);
        return;
      }
      this.#spec.onWarning(`${this.#spec.name} has exited with ${end}; restarting it`);
      try {
        await sleep(this.#patience.delayMs, signal);
      } catch {
        // It is to stop.
        return;
      }
    }
  }

  /** @returns how it ended. */
  async #runOnce(): Promise<string> {
    const [, script = ''] = process.argv;
    const child = spawn(process.execPath, [...process.execArgv, script, this.#spec.command], {
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      env: { ...inherited(), ...this.#spec.env },
    });
    this.#child = child;
    const ended = Promise.withResolvers<string>();
    child.once('error', (error) => {
      ended.resolve(error.message);
    });
    child.once('exit', (code, endSignal) => {
      ended.resolve(endSignal ?? `exit code ${String(code)}`);
    });
    const closed = [child.stdout, child.stderr].map(async (stream) => {
      if (!stream) return;
      const lines = createInterface(stream);
      lines.on('line', (line) => {
        this.#take(redact(line));
      });
      await once(lines, 'close');
    });
    const end = await ended.promise;
    await Promise.all(closed);
    return end;
  }

  #take(line: string): void {
    this.#spec.onLine(line);
    const entry = entryOf(line);
    if (entry['msg'] === 'listening') {
      this.#port = numberOf(entry['port']);
      this.#listening.resolve(undefined);
    }
    if (entry['level'] === 'info' || entry['level'] === 'debug') return;
    this.#lines = [...this.#lines, textOf(entry['msg']) ?? line].slice(-keptLines);
  }

  #endError(what: string): SyncError {
    const said = this.#lines.length === 0 ? '' : `; its output: ${this.#lines.join('; ')}`;
    return new SyncError('InternalError', `${this.#spec.name} ${what}${said}`);
  }
}

/** The environment of a program: that of this process without the options of its command, and with the options of Node. */
function inherited(): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(([name]) => !name.startsWith('CLUSTERSYNC_'));
  // Of an option that is given twice, Node takes the last.
  const given = [nodeOptions, process.env[nodeOptionsVariable]].filter((text) => text);
  return { ...Object.fromEntries(own), [nodeOptionsVariable]: given.join(' ') };
}

function entryOf(line: string): JsonObject {
  try {
    return objectOf(JSON.parse(line));
  } catch {
    return {};
  }
}
