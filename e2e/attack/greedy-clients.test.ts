import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { text as textOf } from 'node:stream/consumers';
import { maxConnections } from '../../service/listening.ts';
import { plainServers } from './plain-servers.ts';

/** As the kubelet waits for a readiness probe. */
const probeMs = 2_000;

describe('a server whose connections are all taken', () => {
  for (const [what, { path, start }] of Object.entries(plainServers)) {
    it(`of ${what} answers another client, and keeps its connections`, async () => {
      await using server = await start();
      const { port } = server;
      await using greedy = new Connections(port, '127.0.0.2');
      await using polite = new Connections(port, '127.0.0.3');
      await polite.open(2);
      for (let round = 1; round <= 3; round++) {
        await greedy.open(maxConnections);
        for (const localAddress of ['127.0.0.1', '127.0.0.2'])
          assert.equal(await ask(port, path, localAddress), 200);
      }
      await greedy.fallTo(maxConnections);
      assert.equal(polite.count, 2);
      // Those that have stayed are the newest ones.
      assert.ok(greedy.count > maxConnections - 10, `${greedy.count} are left`);
      assert.equal(greedy.opened, 3 * maxConnections);
    });
  }
});

/** Connections of one client that says nothing. */
class Connections implements AsyncDisposable {
  readonly #port: number;
  readonly #localAddress: string;
  readonly #open = new Set<Socket>();
  readonly #closed = new EventTarget();
  opened = 0;

  constructor(port: number, localAddress: string) {
    this.#port = port;
    this.#localAddress = localAddress;
  }

  get count(): number {
    return this.#open.size;
  }

  async open(count: number): Promise<void> {
    const all = Array.from({ length: count }, async () => {
      const to = { port: this.#port, host: '127.0.0.1', localAddress: this.#localAddress };
      const socket = connect(to);
      socket.on('error', () => undefined);
      socket.resume();
      this.#open.add(socket);
      socket.once('close', () => {
        this.#open.delete(socket);
        this.#closed.dispatchEvent(new Event('one'));
      });
      await once(socket, 'connect');
      this.opened += 1;
    });
    await Promise.all(all);
  }

  /** Resolves when the server has closed all but so many. */
  async fallTo(count: number): Promise<void> {
    const signal = AbortSignal.timeout(probeMs);
    while (this.count > count) await once(this.#closed, 'one', { signal });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const all = [...this.#open].map(async (socket) => {
      const closed = once(socket, 'close');
      socket.destroy();
      await closed;
    });
    await Promise.all(all);
  }
}

/** Asks on a connection of its own, as the kubelet does. */
async function ask(port: number, path: string, localAddress: string): Promise<number | undefined> {
  const signal = AbortSignal.timeout(probeMs);
  const to = { port, host: '127.0.0.1', localAddress, path, agent: false, signal };
  const [response] = (await once(request(to).end(), 'response')) as [IncomingMessage];
  await textOf(response);
  return response.statusCode;
}
