import assert from 'node:assert/strict';
import fc from 'fast-check';
import { harmless, harmlessLines } from './harmless.ts';
import { harmlessJson, harmlessXml } from './terminal.ts';

const invisible = '\u200b\u200c\u200d\u2060\ufeff\u00ad\ufe0f\u034f\u115f\u3164\u{e0041}\u{e0100}';
const hostile = '\u001b[2J\u009b31m\u202etxt\u2066\u200f\u2028\u0085\u007f';

/** Whether a terminal displays each character, and does nothing else. */
function isShown(text: string): boolean {
  return Array.from(text).every((character) => {
    const code = character.codePointAt(0) ?? 0;
    const isControl =
      (code < 0x20 && code !== 0x0a && code !== 0x09) || (code > 0x7e && code < 0xa0);
    const isBidi = [0x61c, 0x200e, 0x200f].includes(code) || (code >= 0x2028 && code <= 0x202e);
    const isInvisible = invisible.includes(character);
    return !isControl && !isBidi && !isInvisible && !(code >= 0x2066 && code <= 0x2069);
  });
}

describe('text for a terminal', () => {
  it('contains nothing that controls it', () => {
    assert.equal(harmless('a\u001b[31mb\r\n\u202ec'), 'a\ufffd[31mb\ufffd\ufffd\ufffdc');
    assert.ok(!isShown(hostile));
    assert.ok(isShown(harmless(hostile)));
  });

  it('contains nothing that controls it, for any input', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const line = harmless(text);
        return isShown(line) && !line.includes('\n');
      }),
    );
  });

  it('makes invisible characters visible, in lines, JSON and XML', () => {
    for (const character of invisible) {
      assert.equal(harmless(`a${character}b`), 'a\ufffdb');
      assert.equal(harmlessLines(`a${character}\nb`), 'a\ufffd\nb');
      const json = harmlessJson(JSON.stringify([character]));
      assert.match(json, /^\["(?:\\u[0-9a-f]{4})+"\]$/);
      assert.deepEqual(JSON.parse(json), [character]);
      const code = character.codePointAt(0) ?? 0;
      assert.equal(harmlessXml(character), `&#x${code.toString(16)};`);
    }
  });

  it('is JSON with the same value', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const value = { [hostile]: [text, hostile, invisible] };
        const json = harmlessJson(JSON.stringify(value, undefined, 2));
        assert.deepEqual(JSON.parse(json), value);
        return isShown(json);
      }),
    );
  });

  it('is XML with the same text', () => {
    assert.equal(harmlessXml('a\n\t\u009b\u202e'), 'a\n\t&#x9b;&#x202e;');
  });
});
