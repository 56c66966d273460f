import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { OpMsgRequest } from 'mongodb/lib/cmap/commands.js';
import { guardedConnection } from './guarded-connection.ts';
import { openSocketPair } from './testing/socket-pair.ts';
import { WriteGuard } from './write-guard.ts';

describe('a connection that closes', () => {
  const cases = [
    {
      // The state from when the server's end has been read until the close event.
      when: 'while nobody has been told yet',
      close: (socket: Socket): unknown => socket.destroy(),
      bytes: 10,
    },
    {
      when: 'by the server, while a message waits for the network',
      close: (_socket: Socket, peer: Socket): unknown => peer.destroy(),
      bytes: 50_000_000,
    },
    {
      when: 'by the client, while a message waits for the network',
      close: (_socket: Socket, _peer: Socket, connection: Opened): unknown => {
        connection.cleanup(new Error('the pool was cleared'));
        return undefined;
      },
      bytes: 50_000_000,
    },
  ];

  for (const { when, close, bytes } of cases) {
    it(`fails what is sent on it, ${when}`, async () => {
      await using pair = await openSocketPair();
      const { socket, peer } = pair;
      peer.on('error', () => undefined);
      const connection = new Opened(socket);
      const isLarge = bytes > 1_000_000;
      const sending = isLarge ? connection.send(bytes) : undefined;
      close(socket, peer, connection);
      await assert.rejects(sending ?? connection.send(bytes));
    });
  }
});

/** A connection as in a pool after its handshake. */
class Opened extends guardedConnection({
  writeGuard: new WriteGuard(),
  isWorkedOn: async () => await Promise.resolve(false),
  lostWrite: () => undefined,
}) {
  constructor(socket: Socket) {
    super(socket, { hostAddress: '127.0.0.1', id: 1, generation: 0 });
  }

  async send(bytes: number): Promise<void> {
    const message = new OpMsgRequest('admin', { ping: 1, text: 'x'.repeat(bytes) }, {});
    await this.writeCommand(message, { agreedCompressor: 'none' });
  }
}
