import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { deflateSync, inflateSync, zstdDecompressSync } from 'node:zlib';
import { BSON, type Document } from 'mongodb';
import { OpMsgRequest } from 'mongodb/lib/cmap/commands.js';
import type { WriteOptions } from 'mongodb/lib/cmap/connection.js';
import { ZeroCopyConnection } from './zero-copy-connection.ts';
import { bsonType, elementsOf } from './raw-bson.ts';
import { RawValue } from './raw-value.ts';
import { openSocketPair } from './testing/socket-pair.ts';

describe('ZeroCopyConnection', () => {
  const documents = Array.from({ length: 300 }, (_, number) => ({
    _id: number,
    t: 'x'.repeat(999),
  }));

  it('sends a large raw value as the field of the command that it is', async () => {
    const message = await sent(insertOf(documents), { agreedCompressor: 'none' });
    assert.equal(message.readInt32LE(0), message.length);
    const { documents: received, ...others } = BSON.deserialize(message.subarray(21));
    assert.deepEqual(others, { insert: 'items', ordered: false, $db: 'shop' });
    assert.deepEqual(received, documents);
  });

  for (const [what, count, options] of [
    ['a small value', 3, { agreedCompressor: 'none' }],
    [
      'what a deadline goes with',
      300,
      { agreedCompressor: 'none', timeoutContext: { csotEnabled: () => true } },
    ],
  ] as const) {
    it(`leaves ${what} to the driver`, async () => {
      const request = insertOf(documents.slice(0, count));
      const expected = Buffer.concat(insertOf(documents.slice(0, count)).toBin());
      const message = await sent(request, options);
      assert.deepEqual(message.subarray(8), expected.subarray(8));
    });
  }

  for (const [agreedCompressor, decompress] of [
    ['zlib', inflateSync],
    ['zstd', zstdDecompressSync],
  ] as const)
    for (const count of [300, 3])
      it(`compresses ${count} documents by ${agreedCompressor}`, async () => {
        const message = await sent(insertOf(documents.slice(0, count)), { agreedCompressor });
        const opCompressed = 2012;
        assert.equal(message.readInt32LE(12), opCompressed);
        assert.ok(message.length < 50_000);
        const body = decompress(message.subarray(25));
        const { documents: received, ...others } = BSON.deserialize(body.subarray(5));
        assert.deepEqual(others, { insert: 'items', ordered: false, $db: 'shop' });
        assert.deepEqual(received, documents.slice(0, count));
      });

  it('does not compress a login', async () => {
    const login = new OpMsgRequest('admin', { saslStart: 1, mechanism: 'PLAIN' }, {});
    const message = await sent(login, { agreedCompressor: 'zstd' });
    const opMessage = 2013;
    assert.equal(message.readInt32LE(12), opMessage);
  });

  it('closes itself where answers keep coming that nobody has asked for', async () => {
    await using pair = await openSocketPair();
    const { socket, peer } = pair;
    const connection = new Opened(socket);
    const answer = Buffer.concat(new OpMsgRequest('shop', { ok: 1 }, {}).toBin());
    const closed = new Promise((resolve) => peer.on('error', () => undefined).on('close', resolve));
    const answers = Buffer.concat(Array.from({ length: 1_000 }, () => answer));
    const write = (): void => {
      while (!peer.destroyed && peer.write(answers));
    };
    peer.on('drain', write);
    write();
    await closed;
    assert.ok(connection.unreadAnswers <= 8);
  });

  it('closes itself where a packed answer comes before the one before it is unpacked', async () => {
    await using pair = await openSocketPair();
    const { socket, peer } = pair;
    const connection = new Opened(socket);
    const closed = new Promise((resolve) => peer.on('error', () => undefined).on('close', resolve));
    const answer = packed(Buffer.concat(new OpMsgRequest('shop', { ok: 1 }, {}).toBin()));
    peer.write(Buffer.concat([answer, answer]));
    await closed;
    assert.ok(connection.unreadAnswers <= 1);
  });
});

function insertOf(documents: Document[]): OpMsgRequest {
  const [element] = elementsOf(BSON.serialize({ documents }));
  assert.equal(element?.type, bsonType.array);
  const command = {
    insert: 'items',
    documents: new RawValue('documents', element),
    ordered: false,
  };
  return new OpMsgRequest('shop', command, {});
}

/** A message as a server sends it with zlib. */
function packed(message: Buffer): Buffer {
  const body = deflateSync(message.subarray(16));
  const header = Buffer.alloc(25);
  message.copy(header, 0, 0, 12);
  header.writeInt32LE(header.length + body.length, 0);
  header.writeInt32LE(2012, 12);
  message.copy(header, 16, 12, 16);
  header.writeInt32LE(message.length - 16, 20);
  header[24] = 2;
  return Buffer.concat([header, body]);
}

/** The bytes that one message is sent as. */
async function sent(message: OpMsgRequest, options: WriteOptions): Promise<Buffer> {
  await using pair = await openSocketPair();
  const { socket, peer } = pair;
  const chunks: Buffer[] = [];
  peer.on('data', (chunk: Buffer) => chunks.push(chunk));
  await new Opened(socket).send(message, options);
  socket.end();
  await once(peer, 'end');
  return Buffer.concat(chunks);
}

/** A connection as a pool has it once its handshake is over. */
class Opened extends ZeroCopyConnection {
  constructor(socket: Socket) {
    super(socket, { hostAddress: '127.0.0.1', id: 1, generation: 0 });
  }

  get unreadAnswers(): number {
    return this.messageStream.readableLength;
  }

  async send(message: OpMsgRequest, options: WriteOptions): Promise<void> {
    await this.writeCommand(message, { timeoutContext: { csotEnabled: () => false }, ...options });
  }
}
