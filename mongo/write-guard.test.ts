import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { BSON, type Document } from 'mongodb';
import { documentSequence } from './document-sequence.ts';
import { guardedConnection } from './guarded-connection.ts';
import { elementsOf } from './raw-bson.ts';
import { RawValue } from './raw-value.ts';
import { openSocketPair, type SocketPair } from './testing/socket-pair.ts';
import { checkedWhenSent, checkOf, WriteGuard } from './write-guard.ts';

const refused = new Error('the right is lost');

describe('WriteGuard', () => {
  let pair: SocketPair;
  let guard: WriteGuard;
  /** The time of the connection in each question to the right. */
  let asked: number[];
  /** The commands that the right was asked about. */
  let commands: string[];
  let isMine: boolean;
  let chunks: Buffer[];
  /** How many writes were lost with their connections. */
  let lost: number;

  beforeEach(async () => {
    pair = await openSocketPair();
    guard = new WriteGuard();
    asked = [];
    commands = [];
    isMine = true;
    chunks = [];
    lost = 0;
    guard.right = {
      isNeededFor: ({ db, name, target }) => {
        commands.push(`${name} ${String(target)} in ${db}`);
        return target !== 'free';
      },
      confirm: async (connectedAtMs) => {
        asked.push(connectedAtMs);
        await Promise.resolve();
        if (!isMine) throw refused;
      },
      require: () => {
        if (!isMine) throw refused;
      },
    };
  });

  afterEach(async () => {
    await pair[Symbol.asyncDispose]();
  });

  function open(compressor?: string) {
    const Guarded = guardedConnection({
      writeGuard: guard,
      isWorkedOn: async () => await Promise.resolve(true),
      lostWrite: () => {
        lost += 1;
      },
    });
    const connection = new (class extends Guarded {
      constructor(socket: Socket) {
        super(socket, { hostAddress: 'a:1', id: 1, generation: 0 });
        Object.assign(this.description, { maxWireVersion: 17, serverConnectionId: 7n, compressor });
      }

      async run(db: string, command: Document, signal?: AbortSignal): Promise<unknown> {
        Object.assign(this, { established: command['hello'] === undefined });
        return await this.command({ db }, command, signal && { signal });
      }
    })(pair.socket);
    return connection.run.bind(connection);
  }

  /** How much is sent of a command that is never answered. */
  async function isSent(db: string, command: Document): Promise<boolean> {
    pair.peer.on('data', (chunk: Buffer) => chunks.push(chunk));
    const sending = open()(db, command);
    const isOver = assert.rejects(sending);
    const first = await Promise.race([once(pair.peer, 'data'), isOver]);
    pair.peer.destroy();
    await isOver;
    return first !== undefined;
  }

  it('is asked for writes of data, with the time at which the connection was there', async () => {
    const earliestMs = performance.now();
    assert.ok(await isSent('shop', { insert: 'items', documents: [{}] }));
    assert.deepEqual(commands, ['insert items in shop']);
    assert.equal(asked.length, 1);
    assert.ok((asked[0] ?? 0) >= earliestMs && (asked[0] ?? 0) <= performance.now());
  });

  it('is asked for a write that returns what it has found, too', async () => {
    isMine = false;
    await assert.rejects(open()('shop', { findAndModify: 'items' }), refused);
    assert.deepEqual(commands, ['findAndModify items in shop']);
  });

  it('is not told that the connection was there before its login, nor of a later time', async () => {
    const run = open();
    await Promise.allSettled([run('admin', { hello: 1 }, AbortSignal.timeout(50))]);
    const earliestMs = performance.now();
    isMine = false;
    await assert.rejects(run('shop', { insert: 'items' }), refused);
    await assert.rejects(run('shop', { insert: 'items' }), refused);
    assert.equal(new Set(asked).size, 1);
    assert.ok((asked[0] ?? 0) >= earliestMs);
  });

  it('is not asked for what is read', async () => {
    isMine = false;
    assert.ok(await isSent('shop', { find: 'items' }));
    assert.deepEqual([commands, asked], [[], []]);
  });

  it('is not asked for a write that does not need it', async () => {
    isMine = false;
    assert.ok(await isSent('shop', { update: 'free', updates: [] }));
    assert.deepEqual([commands, asked], [['update free in shop'], []]);
  });

  it('lets nothing of a write be sent where it refuses', async () => {
    isMine = false;
    await assert.rejects(open()('shop', { create: 'items' }), refused);
    assert.equal(pair.socket.bytesWritten, 0);
  });

  // Each command by which the syncer changes a deployment.
  for (const name of [
    ...['insert', 'update', 'delete', 'findAndModify'],
    ...['create', 'createIndexes', 'collMod', 'convertToCapped'],
    ...['drop', 'dropDatabase', 'dropIndexes', 'renameCollection', 'setUserWriteBlockMode'],
  ]) {
    it(`lets nothing be sent of ${name} where it refuses, and tells of one whose connection is lost`, async () => {
      isMine = false;
      await assert.rejects(open()('shop', { [name]: 'items' }), refused);
      assert.equal(pair.socket.bytesWritten, 0);
      await pair[Symbol.asyncDispose]();
      pair = await openSocketPair();
      isMine = true;
      assert.ok(await isSent('shop', { [name]: 'items' }));
      assert.equal(lost, 1);
    });
  }

  it('is asked once more when all is ready to be sent', async () => {
    guard.right = {
      isNeededFor: () => true,
      confirm: async () => {
        await Promise.resolve();
      },
      require: () => {
        if (!isMine) throw refused;
        isMine = false;
      },
    };
    await assert.rejects(open()('shop', { create: 'items' }), refused);
    assert.equal(pair.socket.bytesWritten, 0);
    assert.ok(pair.socket.destroyed);
  });

  it('lets nothing of a command be sent that its own check refuses, when it is sent', async () => {
    const own = new Error('the lease is lost');
    let isHeld = true;
    const move = checkedWhenSent({ moveChunk: 'shop.items' }, () => {
      if (!isHeld) throw own;
    });
    assert.equal(checkOf({ moveChunk: 'shop.items' }), undefined);
    const command = open();
    isHeld = false;
    await assert.rejects(command('admin', move), own);
    assert.deepEqual(asked, []);
    assert.equal(pair.socket.bytesWritten, 0);
  });

  it('is not waited for when the write is given up', async () => {
    guard.right = {
      isNeededFor: () => true,
      confirm: () => Promise.withResolvers<never>().promise,
      require: () => undefined,
    };
    const reason = new Error('given up');
    const stop = new AbortController();
    const sending = open()('shop', { drop: 'items' }, stop.signal);
    stop.abort(reason);
    await assert.rejects(sending, reason);
  });

  const text = randomBytes(12_000_000).toString('base64');
  const [element] = elementsOf(BSON.serialize({ documents: [{ _id: 1, text }] }));
  assert.ok(element);
  const value = new RawValue('documents', element);
  const sequence = documentSequence('documents', [BSON.serialize({ _id: 1, text })]);
  const large: readonly (readonly [string, object, string | undefined])[] = [
    ['of a raw value', value, undefined],
    ['of a sequence of documents', sequence, undefined],
    ['of an array', [{ _id: 1, text: text.slice(0, 15_000_000) }], undefined],
    ['of a raw value, compressed', value, 'zstd'],
    ['of a sequence of documents, compressed', sequence, 'zstd'],
  ];
  for (const [what, documents, compressor] of large) {
    it(`lets a large write ${what} not come to its end where the right is lost while the network takes it`, async () => {
      const sending = open(compressor)('shop', { insert: 'items', documents });
      const isRefused = assert.rejects(sending, refused);
      // Some of it has arrived; the rest waits to be read.
      pair.peer.on('error', () => undefined);
      pair.peer.on('data', (chunk: Buffer) => chunks.push(chunk));
      await once(pair.peer, 'data');
      pair.peer.pause();
      isMine = false;
      pair.peer.resume();
      await isRefused;
      await once(pair.peer, 'close');
      const received = Buffer.concat(chunks);
      assert.ok(received.length > 0 && received.length < received.readInt32LE(0));
    });

    it(`does not send the end of a large write ${what} that is given up while the network takes it`, async () => {
      const stop = new AbortController();
      const reason = new Error('given up');
      const command = { insert: 'items', documents };
      const isGivenUp = assert.rejects(open(compressor)('shop', command, stop.signal), reason);
      pair.peer.on('error', () => undefined);
      pair.peer.on('data', (chunk: Buffer) => chunks.push(chunk));
      await once(pair.peer, 'data');
      pair.peer.pause();
      stop.abort(reason);
      await isGivenUp;
      pair.peer.resume();
      await once(pair.peer, 'close');
      const received = Buffer.concat(chunks);
      assert.ok(received.length > 0 && received.length < received.readInt32LE(0));
    });

    it(`fails with a large write ${what} whose connection is closed while the network takes it`, async () => {
      const sending = open(compressor)('shop', { insert: 'items', documents });
      const isOver = assert.rejects(sending);
      pair.peer.on('error', () => undefined);
      await once(pair.peer, 'readable');
      pair.socket.destroy();
      await isOver;
    });

    it(`sends a large write ${what} whole where the right is kept`, async () => {
      const sending = open(compressor)('shop', { insert: 'items', documents });
      const isOver = assert.rejects(sending);
      const whole = Promise.withResolvers<undefined>();
      let received = 0;
      pair.peer.on('data', (chunk: Buffer) => {
        chunks.push(chunk);
        received += chunk.length;
        if (received >= (chunks[0]?.readInt32LE(0) ?? Infinity)) whole.resolve(undefined);
      });
      await whole.promise;
      assert.equal(received, chunks[0]?.readInt32LE(0));
      pair.peer.destroy();
      await isOver;
    });
  }

  it('lets nothing of a write be sent where the right is lost while it is compressed', async () => {
    let isFirst = true;
    guard.right = {
      isNeededFor: () => true,
      confirm: async () => {
        await Promise.resolve();
      },
      require: () => {
        if (!isFirst) throw refused;
        isFirst = false;
      },
    };
    await assert.rejects(
      open('zstd')('shop', { insert: 'items', documents: [{ text: 'x'.repeat(1_000) }] }),
      refused,
    );
    assert.equal(pair.socket.bytesWritten, 0);
  });
});
