import { once } from 'node:events';
import type { ChildProcess } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createGuardedFolder, type GuardedFolder } from './guarded-folder.ts';
import { until } from './until.ts';
import { defaultDeadlineMs } from './default-deadline.ts';
import { hasEnded } from './has-ended.ts';

const executable = fileURLToPath(new URL('../../bin/clustersync.ts', import.meta.url));
const terminalHelper = fileURLToPath(new URL('terminal.py', import.meta.url));

/** How a command is run. */
export interface CliOptions {
  /** Files that are made for it: `{name}` in an argument becomes the path of the file of this name. */
  readonly files?: Readonly<Record<string, string>>;
  /** In a pseudo-terminal: then both outputs are one. Default: false. */
  readonly hasTerminal?: boolean;
  /** Added to the environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** Another program than the executable: the path of its module. */
  readonly program?: string;
}

/** A command of the executable, run as a person would. It ends with this object, or with the tests' process. */
export class CliProcess implements AsyncDisposable {
  readonly #folder: GuardedFolder;
  readonly #child: ChildProcess;
  readonly #startedAtMs = performance.now();

  private constructor(folder: GuardedFolder, child: ChildProcess) {
    this.#folder = folder;
    this.#child = child;
  }

  static async start(args: readonly string[], options: CliOptions = {}): Promise<CliProcess> {
    const { files = {}, hasTerminal = false, env = {}, program = executable } = options;
    const folder = await createGuardedFolder();
    try {
      for (const [name, text] of Object.entries(files))
        await writeFile(join(folder.path, name), text, { mode: 0o600 });
      const given = args.map((arg) =>
        arg.replaceAll(/\{(\w+)\}/g, (_all, name: string) => join(folder.path, name)),
      );
      const command = [process.execPath, program, ...given];
      const [file = '', ...rest] = hasTerminal ? ['python3', terminalHelper, ...command] : command;
      const child = folder.spawn(file, rest, 'output', {
        input: 'pipe',
        errorFile: hasTerminal ? 'output' : 'errors',
        env: { LANG: 'C.UTF-8', TERM: 'xterm', ...env },
      });
      return new CliProcess(folder, child);
    } catch (error) {
      await folder.remove();
      throw error;
    }
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  get hasEnded(): boolean {
    return hasEnded(this.#child);
  }

  /** What it has written to standard output; in a terminal, everything. */
  async output(): Promise<string> {
    return await this.#read('output');
  }

  /** What it has written to standard error. */
  async errors(): Promise<string> {
    return await this.#read('errors');
  }

  /** What its programs have logged to the file `{log}`. */
  async log(): Promise<string> {
    return await this.#read('log');
  }

  /** Waits until it has written something, to whichever output. */
  async untilSays(pattern: RegExp): Promise<void> {
    await until(
      `it says ${String(pattern)}`,
      async () => {
        const said = `${await this.output()}${await this.errors()}`;
        if (pattern.test(said)) return true;
        if (this.#child.exitCode !== null)
          throw new Error(`it has ended with ${this.#child.exitCode} and said: ${said}`);
        return false;
      },
      defaultDeadlineMs,
    );
  }

  /** Types at its terminal, or writes to its standard input. */
  type(keys: string): void {
    this.#child.stdin?.write(keys);
  }

  /** Resizes its terminal. */
  resize({ columns, rows }: { readonly columns: number; readonly rows: number }): void {
    // As a program asks xterm to: `terminal.py` takes it.
    this.type(`\u001b[8;${rows};${columns}t`);
  }

  /** Waits for its end. @returns the exit code, and how long it has run. */
  async end(): Promise<{ readonly exitCode: number | null; readonly tookMs: number }> {
    if (!hasEnded(this.#child))
      await once(this.#child, 'exit', { signal: AbortSignal.timeout(defaultDeadlineMs) });
    return {
      exitCode: this.#child.exitCode,
      tookMs: performance.now() - this.#startedAtMs,
    };
  }

  /** Sends a signal, and waits for its end. */
  async kill(signal: NodeJS.Signals): Promise<void> {
    this.#child.kill(signal);
    await this.end();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#folder.remove();
  }

  async #read(name: string): Promise<string> {
    return await readFile(join(this.#folder.path, name), 'utf8').catch(() => '');
  }
}
