import assert from 'node:assert/strict';
import fc from 'fast-check';
import { parse } from 'yaml';
import { yamlText } from './transport.ts';

describe('text that is read as YAML', () => {
  it('has no character that a reader of YAML refuses, or takes for the end of a line', () => {
    const text = fc.string({ unit: 'binary', maxLength: 8 });
    fc.assert(
      fc.property(fc.dictionary(text, text, { maxKeys: 3 }), (value) => {
        const written = yamlText(value);
        assert.doesNotMatch(written, /[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]|[^\\]\\ud[89a-f]/);
      }),
      { numRuns: 30 },
    );
  });

  it('has U+FFFD in place of half a character, and leaves an escaped backslash alone', () => {
    const value = { '\ud800': ['\udfff', '\\ud800', '\u009b\u007f', '\u{1f600}'] };
    const expected = { '\ufffd': ['\ufffd', '\\ud800', '\u009b\u007f', '\u{1f600}'] };
    assert.deepEqual(JSON.parse(yamlText(value)), expected);
    assert.deepEqual(parse(yamlText(value)), expected);
    assert.equal(yamlText('a \u2028\u0085'), '"a \\u2028\\u0085"');
  });
});
