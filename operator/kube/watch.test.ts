import assert from 'node:assert/strict';
import fc from 'fast-check';
import { readLines } from './watch.ts';

async function linesOf(chunks: readonly Buffer[], maxChars = 1000): Promise<string[]> {
  const source = async function* (): AsyncGenerator<Buffer> {
    for (const chunk of chunks) yield await Promise.resolve(chunk);
  };
  const lines: string[] = [];
  for await (const line of readLines(source(), maxChars)) lines.push(line);
  return lines;
}

describe('readLines', () => {
  it('gives the same lines wherever the stream is cut, within a character too', async () => {
    const text = fc.array(fc.string({ unit: 'grapheme' }).map((each) => each.replaceAll('\n', '')));
    await fc.assert(
      fc.asyncProperty(text, fc.array(fc.nat(200)), async (lines, cuts) => {
        const bytes = Buffer.from(lines.join('\n'));
        const places = [0, ...cuts.map((cut) => Math.min(cut, bytes.length)).sort((a, b) => a - b)];
        const chunks = places.map((from, index) => bytes.subarray(from, places[index + 1]));
        assert.deepEqual(
          await linesOf(chunks, 10_000),
          lines.filter((line) => line !== ''),
        );
      }),
    );
  });

  it('gives up a line without an end', async () => {
    const chunks = Array.from({ length: 20 }, () => Buffer.from('x'.repeat(10)));
    await assert.rejects(linesOf(chunks, 100), RangeError);
  });
});
