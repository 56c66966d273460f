import assert from 'node:assert/strict';
import { typeInto } from './screen.ts';

describe('typeInto', () => {
  const cases: readonly (readonly [string, string, string, readonly string[], boolean])[] = [
    ['characters', 'com', 'mit', [], false],
    ['Enter', 'commit', '\r', ['commit'], false],
    ['two lines', '', 'a\nb\rc', ['a', 'b'], false],
    ['Backspace', 'commi\u007f\u007f', 'x', [], false],
    ['Ctrl-U', 'no\u0015', 'yes\r', ['yes'], false],
    ['Ctrl-C', 'co', '\u0003', [], true],
    ['arrows and function keys', 'a', '\u001b[D\u001bOP\u001b[15~', [], false],
  ];
  const left = ['commit', '', 'c', 'comx', '', 'co', 'a'];
  for (const [index, [what, before, keys, entered, isInterrupted]] of cases.entries()) {
    it(`takes ${what}`, () => {
      const line = typeInto(typeInto({ text: '' }, before), keys);
      assert.deepEqual(line, { text: left[index], entered, isInterrupted });
    });
  }

  it('does not grow without end', () => {
    assert.equal(typeInto({ text: '' }, 'x'.repeat(1000)).text.length, 80);
  });
});
