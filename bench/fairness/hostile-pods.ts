import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const program = fileURLToPath(new URL('hostile-process.ts', import.meta.url));

/** What a pod does instead of what it should. */
export const hostileKinds = [
  /** Another state at each answer. */
  'flapping',
  /** Takes the question, and never answers. */
  'stalling',
  /** A byte a second. */
  'dripping',
  /** An answer without end. */
  'endless',
  /** 100,000 levels of JSON. */
  'levels',
  /** A progress of 200 KB, another one at each answer. */
  'large',
  /** An error of 200 KB, another one at each answer. */
  'errors',
] as const;

/** One of them. */
export type HostileKind = (typeof hostileKinds)[number];

/** What the process is told. */
export interface HostileSetup {
  readonly addresses: Readonly<Record<HostileKind, string>>;
  readonly port: number;
}

/** Hostile pods in a process of their own: any number of pods may have the address of their kind. */
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
