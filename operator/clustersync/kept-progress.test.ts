import assert from 'node:assert/strict';
import fc from 'fast-check';
import { keptProgress } from './kept-progress.ts';

const kib = 1024;
const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

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

  it('has at most 16 KiB, and 1 MiB with those of all instances, whatever a pod answers', () => {
    const size = fc.integer({ min: 0, max: 40_000 });
    const value = fc.oneof(
      size.map((length) => 'é'.repeat(length)),
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
          assert.ok(bytes * instanceCount <= kib * kib, String(bytes));
        },
      ),
    );
  });
});
