import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { MongoParseError } from 'mongodb';
import { MessageReader, readMessages } from './message-reader.ts';

describe('MessageReader', () => {
  for (const pieceBytes of [1, 7, 15, 16, 17, 1_000, 16_384, 1_000_000]) {
    it(`puts messages together that come in pieces of ${pieceBytes} bytes at most`, () => {
      const messages = [16, 17, 40, 16_383, 16_384, 16_385, 100_000, 20, 20].map(messageOf);
      const taken: Buffer[] = [];
      const reader = new MessageReader((message) => taken.push(message));
      const all = Buffer.concat(messages);
      for (let at = 0; at < all.length;) {
        const room = reader.room();
        const count = all.copy(room, 0, at, at + Math.min(pieceBytes, room.length));
        reader.read(count);
        at += count;
      }
      assert.deepEqual(taken, messages);
    });
  }

  for (const length of [-1, 0, 15, 100_000_000]) {
    it(`takes ${length} for no length`, () => {
      const reader = new MessageReader(() => undefined);
      const header = Buffer.alloc(16);
      header.writeInt32LE(length);
      header.copy(reader.room());
      assert.throws(() => {
        reader.read(header.length);
      }, MongoParseError);
    });
  }
});

describe('readMessages', () => {
  it('gives what comes on a socket, and lets the socket end', async () => {
    const messages = [messageOf(40), messageOf(5_000_000), messageOf(1_000)];
    await using pair = await socketPair();
    const taken: Buffer[] = [];
    let bytes = 0;
    const piped = pair.socket.pipe(new PassThrough());
    const isOurs = readMessages(pair.socket, piped, {
      take: (message) => taken.push(message),
      onBytes: () => (bytes = pair.socket.bytesRead),
      fail: assert.ifError,
    });
    // With another version of Node the driver's way would be left as it is, unnoticed.
    assert.ok(isOurs);
    pair.peer.end(Buffer.concat(messages));
    await once(pair.socket, 'close');
    assert.ok(taken.every((message, index) => messages[index]?.equals(message)));
    assert.equal(taken.length, messages.length);
    assert.equal(bytes, 5_001_040);
    assert.equal(piped.readableLength, 0);
  });

  it('tells of what is no message', async () => {
    await using pair = await socketPair();
    const failed = Promise.withResolvers<Error>();
    readMessages(pair.socket, pair.socket.pipe(new PassThrough()), {
      take: () => undefined,
      onBytes: () => undefined,
      fail: failed.resolve,
    });
    pair.peer.write('HTTP/1.1 400 Bad Request\r\n\r\n');
    assert.match((await failed.promise).message, /message of \d+ bytes/);
  });
});

function messageOf(length: number): Buffer {
  const message = randomBytes(length);
  message.writeInt32LE(length);
  return message;
}

async function socketPair(): Promise<
  AsyncDisposable & { readonly socket: Socket; readonly peer: Socket }
> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const accepted = once(server, 'connection') as Promise<[Socket]>;
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  await once(socket, 'connect');
  const [peer] = await accepted;
  return {
    socket,
    peer,
    [Symbol.asyncDispose]: async () => {
      socket.destroy();
      peer.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
