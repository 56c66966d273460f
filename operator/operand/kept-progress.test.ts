import assert from 'node:assert/strict';
import fc from 'fast-check';
import { keptError, keptProgress } from './kept-progress.ts';

const kib = 1024;
/** As the API server stores it. */
const bytesOf = (value: unknown): number =>
  Buffer.byteLength(JSON.stringify(value).replaceAll(/[<>&\u2028\u2029]/g, '123456'));

describe('keptProgress', () => {
  it('leaves a progress as it is that has room', () => {
    const raw = { state: 'RUNNING', warnings: ['one', 'two'], collectionCopy: { a: 1 } };
    assert.equal(keptProgress(raw, 1), raw);
  });

  it('cuts a long list of warnings, and says how many more there are', () => {
    const warnings = Array.from({ length: 2_500 }, (_, n) => `warning ${n}: ${'x'.repeat(80)}`);
    const shown = keptProgress({ state: 'RUNNING', lagTimeSeconds: 2, warnings }, 1);
    const list = shown['warnings'] as string[];
    assert.ok(list.length > 50, String(list.length));
    assert.deepEqual(list.slice(0, -1), warnings.slice(0, list.length - 1));
    assert.equal(list.at(-1), `and ${2_500 - (list.length - 1)} more`);
    assert.deepEqual([shown['state'], shown['lagTimeSeconds']], ['RUNNING', 2]);
    assert.equal(shown['omittedFields'], undefined);
  });

  it('leaves out the longest fields, and says how many', () => {
    const raw = {
      state: 'RUNNING',
      info: 'x'.repeat(200 * kib),
      more: ['y'.repeat(17 * kib)],
      n: 1,
    };
    assert.deepEqual(keptProgress(raw, 1), {
      state: 'RUNNING',
      n: 1,
      more: ['and 1 more'],
      omittedFields: 1,
    });
  });

  it('has at most 16 KiB, and 768 KiB with those of all instances, whatever a pod answers', () => {
    const size = fc.integer({ min: 0, max: 40_000 });
    const value = fc.oneof(
      size.map((length) => 'é'.repeat(length)),
      size.map((length) => '<\u2028'.repeat(length / 2)),
      fc.array(size, { maxLength: 5 }).map((sizes) => sizes.map((length) => '"'.repeat(length))),
      fc.jsonValue(),
    );
    fc.assert(
      fc.property(
        fc.dictionary(fc.string({ maxLength: 5_000 }), value, { maxKeys: 12 }),
        fc.integer({ min: 1, max: 256 }),
        (raw, instanceCount) => {
          const bytes = bytesOf(keptProgress(raw, instanceCount));
          assert.ok(bytes <= 16 * kib, String(bytes));
          assert.ok(bytes * instanceCount <= 768 * kib, String(bytes));
        },
      ),
    );
  });
});

describe('keptError', () => {
  it('leaves an error as it is that has room, and cuts one that has not', () => {
    assert.equal(keptError('the source is gone'), 'the source is gone');
    assert.equal(keptError('x'.repeat(5_000)), `${'x'.repeat(4_089)}… (cut)`);
  });

  it('has at most 8 KiB, and 256 KiB with those of all instances, whatever a pod answers', () => {
    for (const letter of ['x', '<', '\u0001', '\u2028', '"', '\u{1f480}', '\ud800'])
      for (const instanceCount of [1, 2, 100, 256]) {
        const kept = keptError(letter.repeat(10_000), instanceCount);
        const maxBytes = Math.min(8 * kib, (256 * kib) / instanceCount);
        assert.ok(bytesOf(kept) <= maxBytes, `${instanceCount} ${letter}: ${bytesOf(kept)}`);
        assert.ok(bytesOf(kept) > Math.min(4_000, maxBytes * 0.9), `${instanceCount} ${letter}`);
      }
  });
});
