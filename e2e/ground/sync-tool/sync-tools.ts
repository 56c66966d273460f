import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { DialectName } from './dialects.ts';
import { hasEnded } from '../has-ended.ts';

const program = fileURLToPath(new URL('tool-process.ts', import.meta.url));

/** The configuration of a process with sync tools. */
export interface ToolSetup {
  readonly dialect: DialectName;
  /** One tool listens at each of them. */
  readonly addresses: readonly string[];
  readonly port: number;
  readonly copyMs: number;
  readonly turnMs: number;
  /** How long a new tool does not know its state; by default as long as is usual for one that speaks as it does. */
  readonly initializingMs?: number;
  /** What the tools call themselves; `old` by default. */
  readonly ids?: readonly string[];
}

/** A command that a tool was sent. */
export interface ToolCommand {
  readonly address: string;
  readonly name: string;
  /** Milliseconds since 1970. */
  readonly atMs: number;
  readonly isTaken: boolean;
}

/** The later messages to the process. */
export type ToolRequest =
  /** The address of a tool that is to know of no sync any more. */
  | { readonly forget: string }
  /** The address of a tool for which some time is to have passed. */
  | { readonly skip: string; readonly ms: number };

/** What the process says. */
export type ToolMessage =
  | { readonly kind: 'ready' }
  | { readonly kind: 'poll' }
  | ({ readonly kind: 'command' } & ToolCommand);

/**
 * Sync tools in a process of their own, with nothing behind their HTTP API: what `spec.syncer.image` may be. The process
 * ends with this object, or with the one that has started it.
 */
export class SyncTools implements AsyncDisposable {
  readonly commands: ToolCommand[] = [];
  /** How often all of them were asked for their progress. */
  polls = 0;
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess) {
    this.#child = child;
    child.on('message', (message) => {
      this.#note(message as ToolMessage);
    });
  }

  /** Resolves when all of them listen. */
  static async start(setup: ToolSetup): Promise<SyncTools> {
    const child = fork(program, [JSON.stringify(setup)]);
    const tools = new SyncTools(child);
    const [message] = (await Promise.race([once(child, 'message'), once(child, 'exit')])) as [
      unknown,
    ];
    if ((message as ToolMessage | null)?.kind !== 'ready') {
      throw new Error(`the tools ended before they were ready: ${String(message)}`);
    }
    return tools;
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** The names of the commands that were taken, in order. */
  get taken(): string[] {
    return this.commands.flatMap(({ name, isTaken }) => (isTaken ? [name] : []));
  }

  /** Makes the tool of an address a new one. */
  forget(address: string): void {
    const request: ToolRequest = { forget: address };
    this.#child.send(request);
  }

  /** Lets some time have passed for the tool of an address: a test that has seen what it does lets it come to its end. */
  skip(address: string, ms: number): void {
    const request: ToolRequest = { skip: address, ms };
    this.#child.send(request);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (hasEnded(this.#child)) return;
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await ended;
  }

  #note(message: ToolMessage): void {
    if (message.kind === 'poll') this.polls += 1;
    if (message.kind === 'command') this.commands.push(message);
  }
}
