import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const program = fileURLToPath(new URL('hostile-process.ts', import.meta.url));

/** The ways in which a pod misbehaves. */
export const hostileKinds = [
  /** Answers with another state each time. */
  'flapping',
  /** Accepts the request, and never answers. */
  'stalling',
  /** Sends one byte a second. */
  'dripping',
  /** Sends an endless answer. */
  'endless',
  /** Answers with 100,000 levels of JSON. */
  'levels',
  /** Answers with a progress of 200 KB, a different one each time. */
  'large',
  /** Answers with an error of 200 KB, a different one each time. */
  'errors',
] as const;

/** One of them. */
export type HostileKind = (typeof hostileKinds)[number];

/** The message to the process. */
export interface HostileSetup {
  readonly addresses: Readonly<Record<HostileKind, string>>;
  readonly port: number;
}

/** Hostile pods in a separate process: any number of pods may have the address of their kind. */
export class HostilePods implements AsyncDisposable {
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess) {
    this.#child = child;
  }

  /** Resolves when all of them listen. */
  static async start(setup: HostileSetup): Promise<HostilePods> {
    const child = fork(program, [JSON.stringify(setup)]);
    await Promise.race([once(child, 'message'), once(child, 'exit')]);
    if (child.exitCode !== null) throw new Error('the hostile pods have ended');
    return new HostilePods(child);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await ended;
  }
}
