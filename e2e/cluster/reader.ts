import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { run } from '../ground/command.ts';
import { clusterDeadlineMs } from '../ground/default-deadline.ts';
import {
  documentedCommands,
  isAsDocumented,
  type DocumentedCommand,
} from '../ground/documented-shell.ts';
import type { Cluster } from '../ground/kubernetes/cluster.ts';
import { until } from '../ground/until.ts';

const checkout = new URL('../../', import.meta.url);
const program = fileURLToPath(new URL('bin/clustersync.ts', checkout));

/** Of one command: some wait for what two pods do, and the second starts after the first. */
const deadlineMs = 2 * clusterDeadlineMs;

/** Replacements for what cannot be run here as documented. */
export interface Substitution {
  readonly text: string;
  readonly by: string;
  readonly because: string;
}

/** A command that cannot be done here. */
export interface LeftOut {
  readonly command: RegExp;
  readonly because: string;
}

/** What a reader begins with. */
export interface ReaderOptions {
  readonly cluster: Cluster;
  /** The namespace that kubectl uses when none is named. */
  readonly namespace: string;
  /** Files in the reader's folder beside those of the checkout. */
  readonly files: Readonly<Record<string, string>>;
  readonly substitutions: readonly Substitution[];
  readonly leftOut: readonly LeftOut[];
}

/** Does what the documents say, in a folder with a checkout in it, by bash. What it has started ends with it. */
export class Reader implements AsyncDisposable {
  readonly #options: ReaderOptions;
  readonly #folder: string;
  readonly #endless = new Set<ChildProcess>();

  private constructor(options: ReaderOptions, folder: string) {
    this.#options = options;
    this.#folder = folder;
  }

  static async start(options: ReaderOptions): Promise<Reader> {
    const { cluster, namespace, files } = options;
    const reader = new Reader(options, await mkdtemp(join(tmpdir(), 'clustersync-reader-')));
    try {
      const bin = join(reader.#folder, 'bin');
      await mkdir(bin);
      await mkdir(join(reader.#folder, 'programs'));
      await symlink(cluster.kubectlPath, join(bin, 'kubectl'));
      await symlink(cluster.helmPath, join(bin, 'helm'));
      await symlink(process.execPath, join(bin, 'node'));
      for (const name of ['clustersync', 'kubectl-clustersync']) {
        // By the name of its file the program knows what it is.
        const file = join(reader.#folder, 'programs', `${name}.ts`);
        await symlink(program, file);
        await writeFile(join(bin, name), `#!/bin/sh\nexec node '${file}' "$@"\n`, { mode: 0o755 });
      }
      for (const part of ['charts', 'docs'])
        await symlink(fileURLToPath(new URL(part, checkout)), join(reader.#folder, part));
      for (const [name, text] of Object.entries(files))
        await writeFile(join(reader.#folder, name), text, { mode: 0o600 });
      await copyFile(cluster.kubeconfigPath, join(reader.#folder, 'kubeconfig'));
      await reader.run(`kubectl config set-context --current --namespace ${namespace}`);
      return reader;
    } catch (error) {
      await reader[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** The commands below a heading, with the substitutions, without what cannot be done here: that is printed. */
  async commandsOf(page: string, heading: string): Promise<DocumentedCommand[]> {
    return documentedCommands(await this.text(page), heading).flatMap((documented) => {
      const { command } = documented;
      const left = this.#options.leftOut.find((each) => each.command.test(command));
      if (left) console.log(`not run, of ${page}: ${command}: ${left.because}`);
      return left ? [] : [{ ...documented, command: this.substituted(command) }];
    });
  }

  /** The unchanged text of a document. */
  async text(page: string): Promise<string> {
    return await readFile(new URL(page, checkout), 'utf8');
  }

  /** Text of a document as it can be done here. */
  substituted(text: string): string {
    return this.#options.substitutions.reduce(
      (done, { text: documented, by }) => done.replaceAll(documented, by),
      text,
    );
  }

  /** Carries out a command, and compares what it writes with what the page says. Returns what it has written. */
  async carryOut({ command, output }: DocumentedCommand): Promise<string> {
    const written = await this.run(command);
    if (output !== undefined && !isAsDocumented(written, output))
      throw new Error(`${command} has written:\n${written}\nand not:\n${output}`);
    return written;
  }

  /** Runs a command line to its end. */
  async run(command: string): Promise<string> {
    return await run('bash', ['-c', `cd '${this.#folder}' && ${command}`], {
      env: this.#environment(),
      deadlineMs,
    });
  }

  /** Runs a command that does not end by itself until it has written something, runs the given work, and ends it with Ctrl-C. */
  async runUntil<T>(
    { command }: DocumentedCommand,
    pattern: RegExp,
    meanwhile: (found: RegExpExecArray) => T | Promise<T>,
  ): Promise<T> {
    const child = spawn('bash', ['-c', `cd '${this.#folder}' && exec ${command}`], {
      detached: true,
      env: { ...process.env, ...this.#environment() },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#endless.add(child);
    let written = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => (written += text));
    let found: RegExpExecArray | undefined;
    await until(
      `${command} writes ${String(pattern)}`,
      () => {
        found = pattern.exec(written) ?? undefined;
        if (found) return true;
        if ((child.exitCode ?? child.signalCode) === null) return false;
        throw new Error(`${command} has ended, and written:\n${written}`);
      },
      deadlineMs,
    );
    if (!found) throw new Error(`${command} has written nothing`);
    const done = await meanwhile(found);
    await this.#end(child, 'SIGINT');
    return done;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.#endless) await this.#end(child, 'SIGKILL');
    await rm(this.#folder, { recursive: true });
  }

  async #end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
    this.#endless.delete(child);
    if ((child.exitCode ?? child.signalCode) !== null || child.pid === undefined) return;
    const ended = once(child, 'exit', { signal: AbortSignal.timeout(deadlineMs) });
    process.kill(-child.pid, signal);
    await ended;
  }

  #environment(): Record<string, string> {
    const path = process.env['PATH'] ?? dirname(process.execPath);
    return {
      PATH: `${join(this.#folder, 'bin')}:${path}`,
      KUBECONFIG: join(this.#folder, 'kubeconfig'),
    };
  }
}
