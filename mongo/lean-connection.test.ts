import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { Binary, BSON, Long, Timestamp, type ClusterTime, type Document } from 'mongodb';
import { OpMsgRequest } from 'mongodb/lib/cmap/commands.js';
import type { WriteOptions } from 'mongodb/lib/cmap/connection.js';
import { MongoDBNamespace } from 'mongodb/lib/utils.js';
import { LeanConnection } from './lean-connection.ts';
import { MessageMemory } from './message-memory.ts';
import { bsonType, elementsOf } from './raw-bson.ts';
import { RawValue } from './raw-value.ts';

describe('LeanConnection', () => {
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

  it('leaves what is compressed to the driver', async () => {
    const message = await sent(insertOf(documents), { agreedCompressor: 'zlib' });
    const opCompressed = 2012;
    assert.equal(message.readInt32LE(12), opCompressed);
    assert.ok(message.length < 50_000);
  });
});

describe('the cluster time of an answer', () => {
  it('is kept when the memory of the answer is used again', async () => {
    const hash = new Binary(Buffer.alloc(20, 7));
    const $clusterTime = {
      clusterTime: Timestamp.fromBits(1, 2),
      signature: { hash, keyId: Long.fromNumber(3) },
    };
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    server.once('connection', (peer) => {
      peer.once('data', () => {
        peer.end(answerOf({ text: 'x'.repeat(2_000_000), ok: 1, $clusterTime }));
      });
    });
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    await once(socket, 'connect');
    const memory = new MessageMemory();
    const given: Buffer[] = [];
    const take = memory.take.bind(memory);
    memory.take = (length) => {
      const message = take(length);
      given.push(message);
      return message;
    };
    try {
      const connection = new Opened(socket, memory);
      await connection.command(new MongoDBNamespace('admin'), { ping: 1 });
      assert.equal(given.length, 1);
      given[0]?.fill(0);
      assert.deepEqual(Buffer.from(connection.time?.signature?.hash.buffer ?? []), hash.buffer);
    } finally {
      socket.destroy();
      server.close();
    }
  });
});

function answerOf(document: Document): Buffer {
  const body = BSON.serialize(document);
  const head = Buffer.alloc(21);
  head.writeInt32LE(head.length + body.length);
  head.writeInt32LE(2013, 12);
  return Buffer.concat([head, body]);
}

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

/** The bytes that one message is sent as. */
async function sent(message: OpMsgRequest, options: WriteOptions): Promise<Buffer> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const accepted = once(server, 'connection') as Promise<[Socket]>;
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const [peer] = await accepted;
  const chunks: Buffer[] = [];
  peer.on('data', (chunk: Buffer) => chunks.push(chunk));
  await new Opened(socket).send(message, options);
  socket.end();
  await once(peer, 'end');
  server.close();
  return Buffer.concat(chunks);
}

/** A connection as a pool has it once its handshake is over. */
class Opened extends LeanConnection {
  constructor(socket: Socket, memory = new MessageMemory()) {
    super(socket, { hostAddress: '127.0.0.1', id: 1, generation: 0 }, memory);
  }

  get time(): ClusterTime | null {
    return this.clusterTime;
  }

  async send(message: OpMsgRequest, options: WriteOptions): Promise<void> {
    await this.writeCommand(message, { timeoutContext: { csotEnabled: () => false }, ...options });
  }
}
