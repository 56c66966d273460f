import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { SyncError } from '../../service/errors.ts';
import { objectOf, type JsonObject } from '../../service/json-fields.ts';
import { jsonValue } from '../../service/json-text.ts';
import type { Logger } from '../../service/logger.ts';
import type { ClusterOptions } from './options.ts';
import { syncsResource } from './resources.ts';
import { writeError, writeOut } from '../../service/terminal.ts';

/** 10,000 resources need less. Longer output is refused, not cut. */
const maxOutputBytes = 256 * 1024 * 1024;

/** Runs one command of the plugin; `args` are the words that are not flags. */
export type Run<T> = (
  options: T,
  logger: Logger,
  signal: AbortSignal,
  args: readonly string[],
) => Promise<number>;

/** An argument for kubectl: since it begins with the kind, it is never a flag, whatever the name. */
export function syncNamed(name: string): string {
  return `${syncsResource}/${name}`;
}

/** Runs the kubectl that has called this plugin: it knows the cluster and the user. */
export class Kubectl {
  readonly #flags: readonly string[];

  constructor({ namespace, context, kubeconfig }: ClusterOptions) {
    this.#flags = Object.entries({ namespace, context, kubeconfig }).flatMap(([name, value]) =>
      value === undefined ? [] : [`--${name}=${value}`],
    );
  }

  /** Its output. @throws SyncError KubectlFailed with its error message. */
  async text(args: readonly string[], signal: AbortSignal): Promise<string> {
    const child = spawn('kubectl', [...args, ...this.#flags], {
      stdio: ['ignore', 'pipe', 'pipe'],
      signal,
    });
    const output = collect(child.stdout);
    const errors = collect(child.stderr);
    await ended(child, signal);
    if (child.exitCode !== 0) {
      const said = errors().trim();
      throw new SyncError('KubectlFailed', said === '' ? 'kubectl has failed' : said);
    }
    return output();
  }

  /** The object in its output. @throws SyncError KubectlFailed. */
  async json(args: readonly string[], signal: AbortSignal): Promise<JsonObject> {
    const value = jsonValue(await this.text([...args, '--output=json'], signal));
    if (value === undefined) throw new SyncError('KubectlFailed', 'kubectl did not print JSON');
    return objectOf(value);
  }

  /** Passes its output on as it arrives. @returns 0, or 2 if it has failed. @throws SyncError OutputLost; it has ended by then. */
  async show(args: readonly string[], signal: AbortSignal): Promise<number> {
    const child = spawn('kubectl', [...args, ...this.#flags], {
      stdio: ['inherit', 'pipe', 'pipe'],
      signal,
    });
    child.stderr.setEncoding('utf8').on('data', writeError);
    const shown = (async () => {
      for await (const text of child.stdout.setEncoding('utf8')) await writeOut(String(text));
    })();
    const ending = ended(child, signal);
    try {
      await Promise.all([ending, shown]);
    } catch (error) {
      // When following a log, it would notice only at the next line that nobody reads its output.
      child.kill();
      await Promise.allSettled([ending, shown]);
      throw error;
    }
    return child.exitCode === 0 ? 0 : 2;
  }
}

async function ended(child: ReturnType<typeof spawn>, signal: AbortSignal): Promise<void> {
  try {
    await once(child, 'close');
  } catch (error) {
    signal.throwIfAborted();
    throw new SyncError('KubectlFailed', 'kubectl is not on the PATH', { cause: error });
  }
}

function collect(stream: NodeJS.ReadableStream): () => string {
  const chunks: Buffer[] = [];
  let bytes = 0;
  stream.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes <= maxOutputBytes) chunks.push(chunk);
  });
  return () => {
    if (bytes > maxOutputBytes)
      throw new SyncError('KubectlFailed', `kubectl has printed more than ${maxOutputBytes} bytes`);
    return Buffer.concat(chunks).toString('utf8');
  };
}
