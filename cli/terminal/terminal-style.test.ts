import assert from 'node:assert/strict';
import { terminalStyle } from './terminal-style.ts';

describe('terminalStyle', () => {
  const cases: readonly (readonly [boolean, Record<string, string>, boolean, boolean])[] = [
    [true, {}, true, false],
    [false, { LANG: 'en_GB.UTF-8' }, false, true],
    [true, { NO_COLOR: '1', LANG: 'C.utf8' }, false, true],
    [true, { NO_COLOR: '' }, true, false],
    [true, { TERM: 'dumb' }, false, false],
    [true, { LC_ALL: 'C', LANG: 'en_GB.UTF-8' }, true, false],
    [true, { LC_ALL: '', LANG: 'en_GB.UTF-8' }, true, true],
  ];
  for (const [isTerminal, env, hasColours, hasBlocks] of cases) {
    it(`${isTerminal ? 'a terminal' : 'no terminal'} with ${JSON.stringify(env)}`, () => {
      assert.deepEqual(terminalStyle(isTerminal, env), { hasColours, hasBlocks });
    });
  }
});
