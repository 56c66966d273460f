import { once } from 'node:events';
import type { ChildProcess } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defaultDeadlineMs } from '../ground/default-deadline.ts';
import { createGuardedFolder, type GuardedFolder } from '../ground/guarded-folder.ts';
import { hasEnded } from '../ground/has-ended.ts';

const executable = fileURLToPath(new URL('../../bin/clustersync.ts', import.meta.url));

/** Outputs that accept nothing: a full device, a pipe whose reader has ended, a file of at most 1 KiB. */
export const losses = {
  full: (stream: 1 | 2) => `exec ${stream}>/dev/full`,
  gone: (stream: 1 | 2) => `exec ${stream}> >(true); wait $!`,
  limited: (stream: 1 | 2) => `ulimit -f 1; exec ${stream}>"$0/limited"`,
} as const;

/** How a command is run. */
export interface LosingOptions {
  /** Where its outputs go; by default, to a file that keeps them. */
  readonly out?: keyof typeof losses;
  readonly err?: keyof typeof losses;
  /** A link to the executable, by whose name it knows what it is. Default: the executable. */
  readonly program?: string;
  /** Its environment variables. */
  readonly env?: Readonly<Record<string, string>>;
  /** Files that are made for it: `{name}` in an argument becomes the path of the file of this name. */
  readonly files?: Readonly<Record<string, string>>;
}

/** How a command has ended, and what it has said to the outputs that it had. */
export interface LosingEnd {
  readonly exitCode: number | null;
  readonly output: string;
  readonly errors: string;
}

/** The executable, with an output that accepts nothing. It ends with this object, or with the tests' process. */
export class LosingProcess implements AsyncDisposable {
  readonly #folder: GuardedFolder;
  readonly #child: ChildProcess;

  private constructor(folder: GuardedFolder, child: ChildProcess) {
    this.#folder = folder;
    this.#child = child;
  }

  static async start(args: readonly string[], options: LosingOptions): Promise<LosingProcess> {
    const { out, err, program = executable, env = {}, files = {} } = options;
    const folder = await createGuardedFolder();
    try {
      for (const [name, text] of Object.entries(files))
        await writeFile(join(folder.path, name), text, { mode: 0o600 });
      const given = args.map((arg) =>
        arg.replaceAll(/\{(\w+)\}/g, (_all, name: string) => join(folder.path, name)),
      );
      const script = [
        ...(out === undefined ? [] : [losses[out](1)]),
        ...(err === undefined ? [] : [losses[err](2)]),
        'exec "$@"',
      ].join('\n');
      // By the title, the guard of the folder knows the process for its own.
      const node = [process.execPath, `--title=${folder.path}`, program];
      const command = ['-c', script, folder.path, ...node, ...given];
      const child = folder.spawn('bash', command, 'output', { errorFile: 'errors', env });
      return new LosingProcess(folder, child);
    } catch (error) {
      await folder.remove();
      throw error;
    }
  }

  /** How it has ended; undefined while it runs. */
  get ending(): string | undefined {
    const { exitCode, signalCode } = this.#child;
    return hasEnded(this.#child) ? String(exitCode ?? signalCode) : undefined;
  }

  /** Sends it a signal. */
  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  /** What it has written to standard output. */
  async output(): Promise<string> {
    return await this.#read('output');
  }

  /** What it has written to standard error. */
  async errors(): Promise<string> {
    return await this.#read('errors');
  }

  /** Waits for its end. */
  async end(): Promise<LosingEnd> {
    if (this.ending === undefined)
      await once(this.#child, 'exit', { signal: AbortSignal.timeout(defaultDeadlineMs) });
    return {
      exitCode: this.#child.exitCode,
      output: await this.output(),
      errors: await this.errors(),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#folder.remove();
  }

  async #read(name: string): Promise<string> {
    return await readFile(join(this.#folder.path, name), 'utf8').catch(() => '');
  }
}
