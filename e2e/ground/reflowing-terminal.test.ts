import assert from 'node:assert/strict';
import { ReflowingTerminal } from './reflowing-terminal.ts';

describe('ReflowingTerminal', () => {
  function showing(text: string): ReflowingTerminal {
    const terminal = new ReflowingTerminal(10);
    terminal.write(text);
    return terminal;
  }

  it('shows a line in one piece, however many rows it takes', () => {
    const terminal = showing('a step of two rows\r\nand one\r\n');
    assert.deepEqual(terminal.lines, ['a step of two rows', 'and one', '']);
    for (const columns of [3, 100, 10]) {
      terminal.resize(columns);
      assert.deepEqual(terminal.lines, ['a step of two rows', 'and one', '']);
    }
  });

  it('erases rows, not lines', () => {
    const terminal = showing('a step\r\nthree rows of a picture');
    terminal.write('\r\u001b[2K\u001b[1A\u001b[2K');
    assert.deepEqual(terminal.lines, ['a step', 'three rows', '']);
  });

  it('writes on after a change of its size where it was', () => {
    const terminal = showing('a step\r\n12345678');
    terminal.resize(4);
    terminal.write('9');
    assert.deepEqual(terminal.lines, ['a step', '123456789']);
    terminal.write('\r\u001b[2K\u001b[1A\u001b[2K\u001b[1A\u001b[2K\u001b[32mnew\u001b[0m');
    assert.deepEqual(terminal.lines, ['a step', 'new', '', '']);
  });

  it('knows how each character looks', () => {
    const { rows } = showing('a\u001b[32mb\u001b[0mc');
    const looks = rows.map((cells) => cells.map(({ character, look }) => character + look));
    assert.deepEqual(looks, [['a', 'b32', 'c']]);
  });

  it('refuses what it does not know', () => {
    assert.throws(() => showing('\u001b[2J'), /unknown/);
    assert.throws(() => showing('\u0007'), /unknown/);
  });
});
