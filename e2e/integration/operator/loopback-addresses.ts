import { once } from 'node:events';
import { createServer, type Server } from 'node:net';

/** Who listens on this port of an address has it. Nothing else of the tests does. */
const reservationPort = 27_181;
const addressCount = 250 * 250;

/**
 * Addresses of the loopback network that no other process has reserved in this way, so that several runs of the tests can
 * each have servers on the same port. They are reserved until this is disposed of, or the process ends.
 */
export class LoopbackAddresses implements AsyncDisposable {
  readonly #reservations: Server[] = [];
  /** Where to search next: runs that always began at the same place would collide every time. */
  #next = Math.floor(Math.random() * addressCount);

  async reserve(): Promise<string> {
    for (let tried = 0; tried < addressCount; tried++) {
      const address = `127.77.${Math.floor(this.#next / 250) + 1}.${(this.#next % 250) + 1}`;
      this.#next = (this.#next + 1) % addressCount;
      const server = await listen(address);
      if (server === undefined) continue;
      this.#reservations.push(server);
      return address;
    }
    throw new Error('all addresses of the loopback network are taken');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = this.#reservations.map(async (server) => {
      await once(server.close(), 'close');
    });
    await Promise.all(closed);
  }
}

/** Undefined where somebody else listens. */
async function listen(address: string): Promise<Server | undefined> {
  const server = createServer((socket) => socket.destroy()).listen(reservationPort, address);
  try {
    await once(server, 'listening');
    return server;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return undefined;
    throw error;
  }
}
