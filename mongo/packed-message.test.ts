import assert from 'node:assert/strict';
import { deflateSync } from 'node:zlib';
import { MalformedAnswer } from './malformed-answer.ts';
import { isPacked, unpacked } from './packed-message.ts';
import { randomMessage } from './testing/random-message.ts';

/** @param saidBytes - the length that the message claims. */
function packedOf(message: Buffer, saidBytes = message.length - 16, compressor = 2): Buffer {
  const body = deflateSync(message.subarray(16));
  const header = Buffer.alloc(25);
  message.copy(header, 0, 0, 12);
  header.writeInt32LE(25 + body.length, 0);
  header.writeInt32LE(2012, 12);
  message.copy(header, 16, 12, 16);
  header.writeInt32LE(saidBytes, 20);
  header[24] = compressor;
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
      packedOf(randomMessage(1_000)).subarray(0, 20),
      packedOf(randomMessage(1_000)).fill(0, 25),
    ];
    for (const message of wrong) await assert.rejects(unpacked(message), MalformedAnswer);
  });
});
