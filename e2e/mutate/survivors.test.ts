import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import type { Place } from './places.ts';
import { changedLine, knownSurvivor, readSurvivors, type Survivor } from './survivors.ts';

const source = 'function f() {\n  g(1);\n  g(\n    2,\n  );\n}\n';

function placeOf(text: string, replacement: string): Place {
  const start = source.indexOf(text);
  const end = start + text.length;
  return { path: 'a.ts', line: 2, column: 3, kind: 'remove', start, end, text: replacement };
}

describe('changedLine', () => {
  it('has the first line that becomes another, however long the change is', () => {
    assert.deepEqual(changedLine(source, placeOf('g(1)', 'g(2)')), { from: 'g(1);', to: 'g(2);' });
    assert.deepEqual(changedLine(source, placeOf('g(\n    2,\n  );', ';')), {
      from: 'g(',
      to: ';',
    });
  });
});

describe('knownSurvivor', () => {
  const place = placeOf('g(1)', 'g(2)');
  const entry: Survivor = {
    path: 'a.ts',
    kind: 'remove',
    from: 'g(1);',
    to: 'g(2);',
    reason: 'equivalent',
    why: 'g takes anything',
  };

  it('is the one of the same change, on whatever line', () => {
    assert.equal(knownSurvivor([entry], source, place), entry);
    assert.equal(knownSurvivor([entry], `\n${source}`, { ...place, start: 18, end: 22 }), entry);
  });

  for (const other of [
    { path: 'b.ts' },
    { kind: 'swap' },
    { from: 'h(1);' },
    { to: ';' },
  ] as const) {
    it(`is none with ${JSON.stringify(other)}`, () => {
      assert.equal(knownSurvivor([{ ...entry, ...other }], source, place), undefined);
    });
  }
});

describe('the known survivors', () => {
  it('name lines of the code, and say why', () => {
    for (const { path, from, reason, why } of readSurvivors()) {
      const lines = readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8').split('\n');
      assert.ok(
        lines.some((line) => line.trim() === from),
        `${path} has no line ${from}: remove the entry`,
      );
      assert.ok(['equivalent', 'speed', 'gap'].includes(reason) && why !== '');
    }
  });
});
