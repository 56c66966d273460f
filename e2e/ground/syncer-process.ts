import { once } from 'node:events';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ChildProcess } from 'node:child_process';
import { freezeProcess } from './freeze-process.ts';
import { nodeOptions } from '../../service/node-options.ts';
import { optionsDigestHeader } from '../../sync-api/headers.ts';
import { sleep } from '../../service/sleep.ts';
import { commitObstaclePrefix } from '../../sync-api/syncer-answers.ts';
import type { SyncerProgressAnswer, SyncProgress } from '../../sync-api/json.ts';
import { requireDocumented } from './api-document.ts';
import { createGuardedFolder, type GuardedFolder } from './guarded-folder.ts';
import { defaultDeadlineMs } from './default-deadline.ts';
import { until } from './until.ts';

const program = fileURLToPath(new URL('../../bin/clustersync.ts', import.meta.url));

const pollMs = 15;

/** Asking costs both processes 2 ms: what has taken long is asked for less often, 5 % of the time after its end at most. */
const maxPollMs = 100;

/** The fields of a progress answer; all but two are null in IDLE. */
export type SyncerProgress = {
  readonly [Field in keyof SyncProgress]: SyncerProgressAnswer['progress'][Field];
};

/** An answer of the API. */
export interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

/** What a syncer is started with. */
export interface SyncerProcessOptions {
  /** Connection string of cluster0. The process reads it from a file. */
  readonly cluster0: string;
  /** Connection string of cluster1. */
  readonly cluster1: string;
  /** More options, by their names on the command line. Default: the log at `debug`. */
  readonly options?: Readonly<Record<string, string | number>>;
  /** What the start waits for: its API answers, or it has read the stored state too. Default `ready`. */
  readonly until?: 'listening' | 'ready';
}

/**
 * A syncer in a process of its own, called over HTTP. It ends with this object, or with the tests' process. Every answer is held
 * against the OpenAPI document.
 */
export interface SyncerProcess extends AsyncDisposable {
  /** Undefined while it is not running. */
  readonly pid: number | undefined;
  /** Null while it is running, and when a signal has ended it. */
  readonly exitCode: number | null;
  /** `http://127.0.0.1:<port>`; another one after each restart. */
  readonly url: string;
  /** POST of a JSON body to /api/v1/<command>. @param to - `digest`: of the start options of the sync that it is for. */
  post(command: string, body: unknown, to?: { readonly digest: string }): Promise<Answer>;
  /** GET /api/v1/progress, whatever it answers. */
  getProgress(): Promise<Answer>;
  /** The progress. Rejects when the answer is an error. */
  progress(): Promise<SyncerProgress>;
  /** Starts a sync. Rejects when that is refused. */
  start(body: object): Promise<void>;
  /**
   * Commits one that has said canCommit; again as long as it is refused only because proofs have become too old since, as on a busy
   * machine. Rejects when it is refused for any other reason.
   */
  commit(options?: { readonly deadlineMs?: number | undefined }): Promise<void>;
  /** Waits until the progress is as asked, and returns it. Rejects as soon as the sync has failed. */
  waitFor(
    isReached: (progress: SyncerProgress) => boolean,
    options?: { readonly deadlineMs?: number },
  ): Promise<SyncerProgress>;
  /** Sends a signal (default SIGKILL) and waits for the end of the process; SIGSTOP and SIGCONT wait for nothing. */
  kill(signal?: NodeJS.Signals): Promise<void>;
  /** Starts it again after it was killed, and waits as the first start did. */
  restart(): Promise<void>;
  /** Everything that it has written, over all its starts. */
  log(): Promise<string>;
}

/** Starts `clustersync syncer` on a free port. */
export async function startSyncerProcess(options: SyncerProcessOptions): Promise<SyncerProcess> {
  const folder = await createGuardedFolder();
  const syncer = new LocalSyncer(folder, options);
  try {
    for (const name of ['cluster0', 'cluster1'] as const)
      await writeFile(join(folder.path, name), options[name], { mode: 0o600 });
    await syncer.restart();
    return syncer;
  } catch (error) {
    await syncer[Symbol.asyncDispose]();
    throw error;
  }
}

class LocalSyncer implements SyncerProcess {
  readonly #folder: GuardedFolder;
  readonly #options: SyncerProcessOptions;
  #child: ChildProcess | undefined;
  #port = 0;

  constructor(folder: GuardedFolder, options: SyncerProcessOptions) {
    this.#folder = folder;
    this.#options = options;
  }

  get pid(): number | undefined {
    return this.#isRunning() ? this.#child?.pid : undefined;
  }

  get exitCode(): number | null {
    return this.#child?.exitCode ?? null;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  async post(command: string, body: unknown, to?: { readonly digest: string }): Promise<Answer> {
    const headers = to ? { [optionsDigestHeader]: to.digest } : {};
    return await this.#fetch('POST', `/api/v1/${command}`, body, headers);
  }

  async getProgress(): Promise<Answer> {
    return await this.#fetch('GET', '/api/v1/progress');
  }

  async progress(): Promise<SyncerProgress> {
    const { status, body } = await this.getProgress();
    if (status !== 200) throw await this.#error(`progress answers ${JSON.stringify(body)}`);
    return body['progress'] as SyncerProgress;
  }

  async start(body: object): Promise<void> {
    await this.#command('start', body);
  }

  async commit({
    deadlineMs = defaultDeadlineMs,
  }: { readonly deadlineMs?: number | undefined } = {}): Promise<void> {
    let refusal = '';
    try {
      await until(
        'commit is taken',
        async () => {
          refusal = await this.#refusalOfCommit();
          return refusal === '';
        },
        deadlineMs,
      );
    } catch (error) {
      throw refusal === '' ? error : await this.#error(`${String(error)}: ${refusal}`);
    }
  }

  async waitFor(
    isReached: (progress: SyncerProgress) => boolean,
    { deadlineMs = defaultDeadlineMs }: { readonly deadlineMs?: number } = {},
  ): Promise<SyncerProgress> {
    const deadline = AbortSignal.timeout(deadlineMs);
    const startedAtMs = performance.now();
    for (;;) {
      const { status, body } = await this.getProgress();
      if (status === 200) {
        const progress = body['progress'] as SyncerProgress;
        if (isReached(progress)) return progress;
      } else if (!String(body['error']).startsWith('NotStarted')) {
        throw await this.#error(`progress answers ${JSON.stringify(body)}`);
      }
      if (deadline.aborted)
        throw await this.#error(`not within ${deadlineMs} ms, progress: ${JSON.stringify(body)}`);
      const waitedMs = performance.now() - startedAtMs;
      const pauseMs = Math.min(maxPollMs, Math.max(pollMs, waitedMs / 20));
      await sleep(pauseMs, deadline).catch(() => undefined);
    }
  }

  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
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

  async restart(): Promise<void> {
    if (this.#isRunning()) throw new Error('the syncer is running');
    const deadline = AbortSignal.timeout(defaultDeadlineMs);
    const logStart = await sizeOf(this.#logFile);
    this.#child = this.#folder.spawn(process.execPath, this.#arguments(), 'log');
    let port: number | undefined;
    while (port === undefined) {
      await this.#pause(deadline);
      port = listeningPort((await readFile(this.#logFile)).subarray(logStart).toString());
    }
    this.#port = port;
    if (this.#options.until === 'listening') return;
    while (!(await fetch(`${this.url}/readyz`, { signal: deadline })).ok)
      await this.#pause(deadline);
  }

  async log(): Promise<string> {
    return await readFile(this.#logFile, 'utf8');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#folder.remove();
  }

  get #logFile(): string {
    return join(this.#folder.path, 'log');
  }

  #arguments(): string[] {
    const options = {
      cluster0File: join(this.#folder.path, 'cluster0'),
      cluster1File: join(this.#folder.path, 'cluster1'),
      port: 0,
      logLevel: 'debug',
      ...this.#options.options,
    };
    const flags = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]);
    // As in its image, and by `clustersync run`.
    return [nodeOptions, program, 'syncer', ...flags];
  }

  #isRunning(): boolean {
    return this.#child?.exitCode === null && this.#child.signalCode === null;
  }

  async #pause(deadline: AbortSignal): Promise<void> {
    if (!this.#isRunning()) throw await this.#error('the syncer has ended');
    if (deadline.aborted) throw await this.#error('the syncer does not start');
    await sleep(pollMs, deadline).catch(() => undefined);
  }

  async #command(command: string, body: object): Promise<void> {
    const { status, body: answer } = await this.post(command, body);
    if (status !== 200) throw await this.#error(`${command} answers ${JSON.stringify(answer)}`);
  }

  /**
   * Commits, and returns why the commit was refused, empty if it was not. By the time of the next progress there may be another proof: that
   * it says canCommit again tells nothing. A proof that is late, and work that is retried, say for how long; that the copy is incomplete, or
   * that an index must be built first, is no reason to refuse a commit any more.
   */
  async #refusalOfCommit(): Promise<string> {
    const { status, body } = await this.post('commit', {});
    if (status === 200) return '';
    const answer = JSON.stringify(body);
    const [, ...obstacles] = String(body['errorDescription']).split(commitObstaclePrefix);
    const isLate = obstacles.length > 0 && obstacles.every((text) => / for \d+ s\b/.test(text));
    if (body['error'] === 'CannotCommitYet' && isLate) return answer;
    throw await this.#error(`commit answers ${answer}`);
  }

  async #fetch(
    method: 'GET' | 'POST',
    path: string,
    requestBody?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Answer> {
    const sent = {
      headers: { 'Content-Type': 'application/json', ...headers },
      body: JSON.stringify(requestBody),
    };
    let response: Response;
    let body: Answer['body'];
    try {
      const signal = AbortSignal.timeout(defaultDeadlineMs);
      const request = { method, signal, ...(method === 'POST' ? sent : {}) };
      response = await fetch(`${this.url}${path}`, request);
      body = (await response.json()) as Answer['body'];
    } catch (cause) {
      throw await this.#error(`${path} is not answered, ${this.#outcome()}`, cause);
    }
    const { status } = response;
    await requireDocumented('syncer', { method, path, requestBody, status, body });
    return { status, body };
  }

  #outcome(): string {
    if (this.#isRunning()) return 'though the syncer runs';
    return `as the syncer has ended: ${String(this.#child?.exitCode ?? this.#child?.signalCode)}`;
  }

  async #error(message: string, cause?: unknown): Promise<Error> {
    return new Error(`${message}\n${(await this.log()).slice(-4000)}`, { cause });
  }
}

/** Undefined while the log does not say it. */
function listeningPort(log: string): number | undefined {
  const line = log.split('\n').find((text) => text.includes('"msg":"listening"'));
  if (!line?.endsWith('}')) return undefined;
  return (JSON.parse(line) as { readonly port: number }).port;
}

async function sizeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).size;
  } catch {
    return 0;
  }
}
