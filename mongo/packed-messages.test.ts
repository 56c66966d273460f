import assert from 'node:assert/strict';
import { deflateSync, inflateSync, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { MalformedAnswer } from './malformed-answer.ts';
import { isPacked, packed, unpacked } from './packed-messages.ts';
import { randomMessage } from './testing/random-message.ts';

describe('packed', () => {
  for (const [compressor, id, decompress] of [
    ['zstd', 3, zstdDecompressSync],
    ['zlib', 2, inflateSync],
  ] as const)
    it(`puts a message into another one, by ${compressor}`, async () => {
      const message = randomMessage(100_000);
      const outer = await packed(message, compressor);
      assert.equal(outer.readInt32LE(0), outer.length);
      // The ids of the request, and of what it answers.
      assert.deepEqual(outer.subarray(4, 12), message.subarray(4, 12));
      assert.equal(outer.readInt32LE(12), 2012);
      assert.equal(outer.readInt32LE(16), message.readInt32LE(12));
      assert.equal(outer.readInt32LE(20), message.length - 16);
      assert.equal(outer[24], id);
      assert.deepEqual(decompress(outer.subarray(25)), message.subarray(16));
      assert.deepEqual(await unpacked(outer), message);
    });

  it('tries as hard with zlib as it is told to', async () => {
    const message = Buffer.alloc(100_000);
    message.writeInt32LE(message.length, 0);
    for (let at = 16; at < message.length; at++) message[at] = (at * at) % 97;
    const [fast, best] = [await packed(message, 'zlib', 1), await packed(message, 'zlib', 9)];
    assert.ok(fast.length > best.length, `${fast.length} and ${best.length} bytes`);
  });
});

/** @param saidBytes - the length that the message claims. */
function packedOf(
  message: Buffer,
  saidBytes = message.length - 16,
  id = 2,
  compress: (body: Buffer) => Buffer = deflateSync,
): Buffer {
  const body = compress(message.subarray(16));
  const header = Buffer.alloc(25);
  message.copy(header, 0, 0, 12);
  header.writeInt32LE(25 + body.length, 0);
  header.writeInt32LE(2012, 12);
  message.copy(header, 16, 12, 16);
  header.writeInt32LE(saidBytes, 20);
  header[24] = id;
  return Buffer.concat([header, body]);
}

describe('unpacked', () => {
  for (const length of [16, 17, 100_000])
    it(`gives a message of ${length} bytes that is in another one`, async () => {
      const message = randomMessage(length);
      const packed = packedOf(message);
      assert.ok(isPacked(packed));
      assert.deepEqual(await unpacked(packed), message);
    });

  it('unpacks no more than a message says, and no message that is longer than any', async () => {
    const large = randomMessage(16);
    const zeros = Buffer.concat([large, Buffer.alloc(70 * 1024 * 1024)]);
    const wrong: readonly Buffer[] = [
      packedOf(zeros),
      packedOf(zeros, 1_000),
      packedOf(zeros, -1),
      packedOf(randomMessage(1_000), 2_000),
      packedOf(randomMessage(1_000), undefined, 1),
      packedOf(zeros, undefined, 3, zstdCompressSync),
      packedOf(zeros, 1_000, 3, zstdCompressSync),
      packedOf(randomMessage(1_000), 2_000, 3, zstdCompressSync),
      packedOf(randomMessage(1_000), undefined, 3, deflateSync),
      packedOf(randomMessage(1_000)).subarray(0, 20),
      packedOf(randomMessage(1_000)).fill(0, 25),
    ];
    for (const message of wrong) await assert.rejects(unpacked(message), MalformedAnswer);
  });
});
