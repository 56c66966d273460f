import assert from 'node:assert/strict';
import { barText, renderLine, type Style } from './style.ts';

const plain: Style = { hasColours: false, hasBlocks: false };
const rich: Style = { hasColours: true, hasBlocks: true };

describe('barText', () => {
  const cases: readonly (readonly [number, number, string])[] = [
    [0, 10, '----------'],
    [0.04, 10, '----------'],
    [0.5, 10, '#####-----'],
    [0.999, 10, '#########-'],
    [1, 10, '##########'],
    [7, 4, '####'],
    [-1, 4, '----'],
    [0.5, 0, ''],
    [0.5, 1, '-'],
  ];
  for (const [fraction, cells, text] of cases) {
    it(`${fraction} of ${cells} cells is ${JSON.stringify(text)}`, () => {
      assert.equal(barText(fraction, cells, plain), text);
    });
  }

  it('has blocks where the terminal does', () => {
    assert.equal(barText(0.5, 4, rich), '██░░');
  });
});

describe('renderLine', () => {
  const line = [{ text: 'copy ', tone: 'strong' }, { text: '45 %' }] as const;

  it('takes out what would direct the terminal, but for its own colours', () => {
    const hostile = [{ text: 'a\u001b[2J\u009b8m\u202e\r\nb\u2028', tone: 'bad' }] as const;
    assert.equal(renderLine(hostile, 80, plain), 'a\ufffd[2J\ufffd8m\ufffd\ufffd\ufffdb\ufffd');
    assert.match(renderLine(hostile, 80, rich), /^\u001b\[31ma\ufffd\[2J[^\u001b]*\u001b\[0m$/);
  });

  it('paints parts only where there are colours', () => {
    assert.equal(renderLine(line, 80, plain), 'copy 45 %');
    assert.equal(renderLine(line, 80, rich), '\u001b[1mcopy \u001b[0m45 %');
  });

  it('cuts by what is seen, and closes what it has opened', () => {
    assert.equal(renderLine(line, 7, plain), 'copy 4…');
    assert.equal(renderLine(line, 3, rich), '\u001b[1mco…\u001b[0m');
    assert.equal(renderLine(line, 5, plain), 'copy ');
  });
});
