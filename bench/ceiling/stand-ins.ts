import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const program = fileURLToPath(new URL('stand-in.ts', import.meta.url));

/** What a stand-in receives when it starts. */
export interface Setup {
  readonly side: 'source' | 'destination';
  /** Of the mongod that it stands before. */
  readonly targetPort: number;
  /** How much each find of the copy returns. */
  readonly bytesOfFind: number;
}

/** What a stand-in does with changes: passes them on, records them meanwhile, or gives those it has recorded so many times. */
export type Order =
  | { readonly kind: 'pass' }
  | { readonly kind: 'record' }
  | { readonly kind: 'replay'; readonly rounds: number };

/** What a stand-in has counted. */
export interface Tally {
  /** Documents that were written. */
  writes: number;
}

/** A stand-in in a process of its own. */
export class StandIn implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly port: number;

  private constructor(child: ChildProcess, port: number) {
    this.#child = child;
    this.port = port;
  }

  /** Resolves when it listens. */
  static async start(setup: Setup): Promise<StandIn> {
    const child = fork(program, [JSON.stringify(setup)]);
    const [{ port }] = (await once(child, 'message')) as [{ readonly port: number }];
    return new StandIn(child, port);
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Tells it what to do; it answers with what it has counted so far. */
  async tell(order: Order): Promise<Tally> {
    const answered = once(this.#child, 'message');
    this.#child.send(order);
    const [tally] = (await answered) as [Tally];
    return tally;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await ended;
  }
}
