import assert from 'node:assert/strict';
import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { MongoNetworkError } from 'mongodb';
import { MessageReader, readMessages } from './message-reader.ts';
import { randomMessage } from './testing/random-message.ts';
import { openSocketPair } from './testing/socket-pair.ts';

describe('MessageReader', () => {
  for (const pieceBytes of [1, 7, 15, 16, 17, 1_000, 16_384, 1_000_000]) {
    it(`puts messages together that come in pieces of ${pieceBytes} bytes at most`, () => {
      const messages = [16, 17, 40, 16_383, 16_384, 16_385, 100_000, 20, 20].map(randomMessage);
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
      }, MongoNetworkError);
    });
  }
});

describe('readMessages', () => {
  it('gives what comes on a socket, and lets the socket end', async () => {
    const messages = [randomMessage(40), randomMessage(5_000_000), randomMessage(1_000)];
    await using pair = await openSocketPair();
    const taken: Buffer[] = [];
    let bytes = 0;
    const piped = pair.socket.pipe(new PassThrough());
    const isOurs = readMessages(pair.socket, piped, {
      take: (message) => taken.push(message),
      onBytes: () => (bytes = pair.socket.bytesRead),
      fail: assert.ifError,
    });
    // Otherwise another version of Node could leave the driver's way in place, unnoticed.
    assert.ok(isOurs);
    pair.peer.end(Buffer.concat(messages));
    await once(pair.socket, 'close');
    assert.ok(taken.every((message, index) => messages[index]?.equals(message)));
    assert.equal(taken.length, messages.length);
    assert.equal(bytes, 5_001_040);
    assert.equal(piped.readableLength, 0);
  });

  it('tells of what is no message', async () => {
    await using pair = await openSocketPair();
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
