import assert from 'node:assert/strict';
import { ReflowingTerminal } from '../../e2e/ground/reflowing-terminal.ts';
import { drawRecording, thinned, type Frame } from './recording.ts';

const size = { columns: 40, rows: 2 };

/** The frames of a terminal after each of some texts, a second apart. */
function recorded(...texts: readonly string[]): Frame[] {
  const terminal = new ReflowingTerminal(size.columns);
  return texts.map((text, index) => {
    terminal.write(text);
    return { atMs: index * 1_000, rows: terminal.rows };
  });
}

function textsOf(svg: string): string[] {
  return [...svg.matchAll(/<text class="(\w)" x="([\d.]+)"[^>]*>([^<]*)</g)].map(
    ([, look, x, text]) => `${look} ${x} ${text}`,
  );
}

describe('drawRecording', () => {
  it('draws each text in its look and at its column, and each row once', () => {
    const svg = drawRecording(recorded('one \u001b[32mgreen\u001b[0m   two\r\n', 'a < b'), size);
    assert.deepEqual(textsOf(svg), ['p 0 one', 'g 29.6 green', 'p 88.8 two', 'p 0 a &lt; b']);
    assert.equal(svg.match(/<use /g)?.length, 3);
  });

  it('shows the last rows, frame after frame, and holds the last one', () => {
    const svg = drawRecording(recorded('1\r\n', '2\r\n', '3'), size);
    assert.match(svg, /0% \{ transform: translateY\(-0px\) \}\n {2}10% .*-34px.*\n {2}20% .*-68px/);
    assert.match(svg, /\.film \{ transform: translateY\(-68px\); animation: film 10s/);
    assert.ok(svg.indexOf('animation: none') > svg.indexOf('animation: film'));
    const last = svg.split('<g transform="translate(0 68)">')[1]?.split('</g>')[0];
    assert.equal(last, '<use href="#r1" y="0"/><use href="#r2" y="17"/>');
  });

  it('shortens long pauses', () => {
    const [first, second] = recorded('1', '2');
    assert.ok(first && second);
    const svg = drawRecording([first, { ...second, atMs: 60_000 }], size);
    assert.match(svg, /animation: film 9\.5s/);
  });

  it('refuses a look that it has no class for', () => {
    assert.throws(() => drawRecording(recorded('\u001b[4munderlined'), size), /unknown look/);
  });
});

describe('thinned', () => {
  it('keeps the last of the frames that follow too soon', () => {
    const frames = [0, 100, 200, 900, 950].map((atMs) => ({
      atMs,
      rows: [[{ character: String(atMs), look: '' }]],
    }));
    const kept = thinned(frames, 250).map(({ atMs, rows }) => [atMs, rows[0]?.[0]?.character]);
    assert.deepEqual(kept, [
      [0, '200'],
      [900, '950'],
    ]);
  });
});
