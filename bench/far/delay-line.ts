import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { syncerAppName } from '../../e2e/ground/mongod/proxied-replica-set.ts';

/** What one direction of a connection holds back at most; then its sender waits, as on a link whose windows are full. */
const maxHeldBytes = 64 * 1024 * 1024;

type Request = { readonly open: number } | { readonly delayMs: number };

/**
 * A link between syncers and some servers, in a process of its own. It delays each direction of a syncer's connections; those of
 * other programs, including the servers' own, pass without delay. It has no limit of bandwidth and loses nothing.
 */
export class DelayLine implements AsyncDisposable {
  readonly #process: ChildProcess;

  private constructor(process: ChildProcess) {
    this.#process = process;
  }

  static start(): DelayLine {
    return new DelayLine(fork(import.meta.filename));
  }

  /** Opens a port in front of one of 127.0.0.1. */
  async open(port: number): Promise<number> {
    return await this.#ask({ open: port });
  }

  /** Sets the round trip from now on: each direction is delayed by half of it. */
  async setRoundTrip(ms: number): Promise<void> {
    await this.#ask({ delayMs: ms / 2 });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.#process, 'exit');
    this.#process.kill();
    await ended;
  }

  async #ask(request: Request): Promise<number> {
    const answered = once(this.#process, 'message');
    this.#process.send(request);
    const [answer] = (await answered) as [number];
    return answer;
  }
}

let delayMs = 0;

/** Passes on what one end sends to the other, each chunk once it has been under way for the delay. */
function pass(from: Socket, to: Socket, isDelayed: () => boolean): void {
  const held: { readonly chunk: Buffer; readonly dueMs: number }[] = [];
  let heldBytes = 0;
  let timer: NodeJS.Timeout | undefined;
  const release = (): void => {
    timer = undefined;
    for (;;) {
      const [first] = held;
      if (!first) return;
      const restMs = first.dueMs - performance.now();
      if (restMs > 0) {
        timer = setTimeout(release, restMs);
        return;
      }
      held.shift();
      heldBytes -= first.chunk.length;
      to.write(first.chunk);
      if (heldBytes < maxHeldBytes) from.resume();
    }
  };
  from.on('data', (chunk: Buffer) => {
    const ms = isDelayed() ? delayMs : 0;
    if (ms === 0 && held.length === 0) {
      to.write(chunk);
      return;
    }
    held.push({ chunk, dueMs: performance.now() + ms });
    heldBytes += chunk.length;
    if (heldBytes >= maxHeldBytes) from.pause();
    timer ??= setTimeout(release, ms);
  });
  from.on('close', () => {
    clearTimeout(timer);
    to.destroy();
  });
  from.on('error', () => {
    to.destroy();
  });
}

async function open(targetPort: number): Promise<number> {
  const server = createServer({ noDelay: true }, (client) => {
    const target = connect({ port: targetPort, host: '127.0.0.1', noDelay: true });
    let isSyncer: boolean | undefined;
    client.once('data', (first: Buffer) => {
      isSyncer = first.includes(syncerAppName);
    });
    const isDelayed = (): boolean => isSyncer === true;
    pass(client, target, isDelayed);
    pass(target, client, isDelayed);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

if (process.send) {
  const answer = process.send.bind(process);
  process.on('message', (request: Request) => {
    if ('delayMs' in request) {
      ({ delayMs } = request);
      answer(0);
    } else void open(request.open).then((port) => answer(port));
  });
  process.on('disconnect', () => process.exit());
}
