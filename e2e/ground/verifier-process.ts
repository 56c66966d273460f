import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ChildProcess } from 'node:child_process';
import { nodeOptions } from '../../service/node-options.ts';
import type { VerificationProgress } from '../../sync-api/json.ts';
import { requireDocumented } from './api-document.ts';
import { assertProven } from './assert-proven.ts';
import { createGuardedFolder, type GuardedFolder } from './guarded-folder.ts';
import { hasEnded } from './has-ended.ts';
import { until } from './until.ts';
import { defaultDeadlineMs } from './default-deadline.ts';

const program = fileURLToPath(new URL('../../bin/clustersync.ts', import.meta.url));

/** What a verifier is started with: connection strings, which it reads from files, and other options by their names. */
export interface VerifierProcessOptions {
  readonly uris: Readonly<Partial<Record<'srcURI' | 'destURI' | 'metaURI', string>>>;
  readonly options?: Readonly<Record<string, string | number>>;
}

/** What a command has written, and its exit code. */
export interface CommandEnd {
  readonly output: string;
  readonly exitCode: number | null;
}

/**
 * A verifier in a process of its own, called over HTTP. It ends with this object, or with the tests' process. Every answer is held
 * against the OpenAPI document.
 */
export class VerifierProcess implements AsyncDisposable {
  readonly #folder: GuardedFolder;
  readonly #options: VerifierProcessOptions;
  #child: ChildProcess | undefined;
  #url = '';
  #starts = 0;

  private constructor(folder: GuardedFolder, options: VerifierProcessOptions) {
    this.#folder = folder;
    this.#options = options;
  }

  /** Starts `clustersync verifier` on a free port. */
  static async start(options: VerifierProcessOptions): Promise<VerifierProcess> {
    const folder = await createGuardedFolder();
    const verifier = new VerifierProcess(folder, options);
    try {
      for (const [name, uri] of Object.entries(options.uris)) {
        await writeFile(join(folder.path, name), uri, { mode: 0o600 });
      }
      await verifier.restart();
      return verifier;
    } catch (error) {
      await verifier[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Undefined once it has ended. */
  get pid(): number | undefined {
    return this.#child && !hasEnded(this.#child) ? this.#child.pid : undefined;
  }

  /** `http://127.0.0.1:<port>`; another one after each restart. */
  get url(): string {
    return this.#url;
  }

  /** Starts it again after it was killed; waits until its API answers. */
  async restart(): Promise<void> {
    const flags = { verifyAll: 'true', port: 0, logLevel: 'debug', ...this.#options.options };
    const log = `log${++this.#starts}`;
    this.#child = this.#spawn(['verifier'], flags, log);
    await until(
      'the verifier listens',
      async () => {
        const lines = (await readFile(join(this.#folder.path, log), 'utf8')).split('\n');
        const line = lines.find((text) => text.includes('"msg":"listening"'));
        if (this.#child?.exitCode !== null) throw new Error(`it has ended: ${lines.join('\n')}`);
        if (!line?.endsWith('}')) return false;
        this.#url = `http://127.0.0.1:${(JSON.parse(line) as { readonly port: number }).port}`;
        return true;
      },
      defaultDeadlineMs,
    );
  }

  /** Ends it by a signal, and waits for that. */
  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const child = this.#child;
    if (child?.exitCode !== null || child.signalCode !== null) return;
    const end = once(child, 'exit');
    child.kill(signal);
    await end;
  }

  async post(command: string): Promise<unknown> {
    await this.#ready();
    const path = `/api/v1/${command}`;
    const response = await fetch(`${this.#url}${path}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: '{}',
    });
    const body: unknown = await response.json();
    const { status } = response;
    await requireDocumented('verifier', { method: 'POST', path, requestBody: {}, status, body });
    return body;
  }

  async get(path: string): Promise<Readonly<Record<string, unknown>>> {
    const response = await fetch(`${this.#url}${path}`);
    const body = (await response.json()) as Readonly<Record<string, unknown>>;
    await requireDocumented('verifier', { method: 'GET', path, status: response.status, body });
    return body;
  }

  async progress(): Promise<VerificationProgress> {
    await this.#ready();
    const body = await this.get('/api/v1/progress');
    if (body['progress'] === undefined) throw new Error(JSON.stringify(body));
    return body['progress'] as VerificationProgress;
  }

  /** Waits for the verdict. Where it is `equal`, each document has to be accounted for. */
  async untilComplete(): Promise<VerificationProgress> {
    let last: VerificationProgress | undefined;
    await until(
      'the verification is complete',
      async () => {
        last = await this.progress();
        if (last.error !== null) throw new Error(last.error);
        return last.verdict !== null;
      },
      defaultDeadlineMs,
    );
    if (!last) throw new Error('no progress');
    const { srcURI = '', destURI = '' } = this.#options.uris;
    if (last.verdict === 'equal') await assertProven(last.proof, srcURI, destURI);
    return last;
  }

  /** Runs `clustersync verifier report` to its end. */
  async report(options: Readonly<Record<string, string | number>>): Promise<CommandEnd> {
    const output = `report${++this.#starts}`;
    const child = this.#spawn(['verifier', 'report'], options, output, ['metaURI']);
    await once(child, 'exit');
    const text = await readFile(join(this.#folder.path, output), 'utf8');
    return { output: text, exitCode: child.exitCode };
  }

  /** Everything that its latest life has written. */
  async log(): Promise<string> {
    return await readFile(join(this.#folder.path, `log${this.#starts}`), 'utf8');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#folder.remove();
  }

  /** Requests wait for this, and not {@link restart}, so that a test can kill it before. */
  async #ready(): Promise<void> {
    await until('the verifier is ready', async () => (await fetch(`${this.#url}/readyz`)).ok);
  }

  #spawn(
    command: readonly string[],
    options: Readonly<Record<string, string | number>>,
    output: string,
    uris: readonly string[] = Object.keys(this.#options.uris),
  ): ChildProcess {
    const files = uris.map((name) => [`${name}File`, join(this.#folder.path, name)] as const);
    const flags = [...files, ...Object.entries(options)].map(
      ([name, value]) => `--${name}=${value}`,
    );
    const args = [nodeOptions, program, ...command, ...flags];
    return this.#folder.spawn(process.execPath, args, output);
  }
}
