import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { defaultDeadlineMs } from './default-deadline.ts';

/** The most of a command's output that is kept, of each of its two streams: the end of it. */
const outputLimitBytes = 16 * 1024 * 1024;

/** How a command is run. */
export interface CommandOptions {
  /** Its standard input. Default: none. */
  readonly input?: string;
  /** Added to the environment of this process. */
  readonly env?: Readonly<Record<string, string>>;
  /** Kills the command and what it has started. */
  readonly signal?: AbortSignal;
  /** How long it may take. Default: {@link defaultDeadlineMs}. */
  readonly deadlineMs?: number;
  /** Its standard error is also shown immediately. Default: false. */
  readonly showErrors?: boolean;
}

/** A command that ended with a status other than 0, by a signal, or not in time. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
  /** Null when a signal ended it. */
  readonly exitCode: number | null;
  readonly standardError: string;

  constructor(command: string, end: string, exitCode: number | null, standardError: string) {
    super(`${command}: ${end}\n${standardError.slice(-4000)}`.trimEnd());
    this.exitCode = exitCode;
    this.standardError = standardError;
  }
}

/** Runs a command and returns its standard output. Rejects with {@link CommandError} unless its status is 0. */
export async function run(
  file: string,
  args: readonly string[],
  options: CommandOptions = {},
): Promise<string> {
  const deadlineMs = options.deadlineMs ?? defaultDeadlineMs;
  const deadline = AbortSignal.timeout(deadlineMs);
  const signal = options.signal ? AbortSignal.any([options.signal, deadline]) : deadline;
  signal.throwIfAborted();
  const child = spawn(file, args, { detached: true, env: { ...process.env, ...options.env } });
  const kill = (): void => {
    // Its group: what it has started would hold its output open.
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  };
  signal.addEventListener('abort', kill, { once: true });
  // A command that does not read its input to the end may close it: its status tells what matters.
  child.stdin.on('error', () => undefined);
  child.stdin.end(options.input);
  const output = collect(child.stdout);
  const errors = collect(child.stderr);
  if (options.showErrors === true) child.stderr.pipe(process.stderr, { end: false });
  try {
    await once(child, 'close');
  } finally {
    signal.removeEventListener('abort', kill);
  }
  if (child.exitCode === 0) return output();
  options.signal?.throwIfAborted();
  const end = deadline.aborted
    ? `not within ${deadlineMs} ms`
    : `ended with ${child.signalCode ?? `status ${String(child.exitCode)}`}`;
  const command = `${file} ${args.join(' ')}`;
  throw new CommandError(command, end, child.exitCode, options.showErrors ? '' : errors());
}

/** Gathers a stream; the result returns what has come so far, without what is beyond the limit. */
function collect(stream: NodeJS.ReadableStream): () => string {
  let chunks: Buffer[] = [];
  let bytes = 0;
  stream.on('data', (chunk: Buffer) => {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes < 2 * outputLimitBytes) return;
    chunks = [Buffer.concat(chunks).subarray(-outputLimitBytes)];
    bytes = outputLimitBytes;
  });
  return () => Buffer.concat(chunks).toString('utf8');
}
