import assert from 'node:assert/strict';
import fc from 'fast-check';
import { harmlessLines } from '../../service/harmless.ts';
import { readMessage } from './message.ts';

describe('a message of the server', () => {
  it('is what was sent, whatever it is made of, but for what would direct the page', () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: 'binary' }), { maxLength: 4 }),
        fc.double(),
        (texts, number) => {
          const sent = { texts, number: [number], nothing: null };
          const read = readMessage(JSON.stringify(sent));
          const shown = JSON.stringify({ ...sent, texts: texts.map(harmlessLines) });
          assert.equal(JSON.stringify(read), shown);
        },
      ),
    );
  });

  it('has no character that ends an isolation or changes a direction, and keeps lines', () => {
    assert.deepEqual(readMessage(JSON.stringify(['a\u2069\u202eb\n\tc\u001c\u2029', '\u05d0'])), [
      'a\ufffd\ufffdb\n\tc\ufffd\ufffd',
      '\u05d0',
    ]);
  });

  it('has of a text that is too long the first part, and how much there is of it', () => {
    assert.deepEqual(readMessage(JSON.stringify(['x'.repeat(10_000), 'x'.repeat(1_000_000)])), [
      'x'.repeat(10_000),
      `${'x'.repeat(10_000)}… and 990000 more characters`,
    ]);
  });
});
