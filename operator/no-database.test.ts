import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const imported = /^(?:import|export)\b[^;]*?from '([^']+)'/gms;

/** All modules that a file loads, by relative imports and those behind them; packages by their names. */
function loadedBy(file: URL, loaded = new Set<string>()): Set<string> {
  if (loaded.has(file.href)) return loaded;
  loaded.add(file.href);
  for (const [statement, name = ''] of readFileSync(file, 'utf8').matchAll(imported)) {
    if (statement.startsWith('import type')) continue;
    if (name.startsWith('.')) loadedBy(new URL(name, file), loaded);
    else loaded.add(name);
  }
  return loaded;
}

describe('the operator', () => {
  it('loads no driver', () => {
    const main = (folder: string): Set<string> =>
      loadedBy(new URL(`../${folder}/main.ts`, import.meta.url));
    const files = [...main('operator')].filter((name) => name.startsWith('file:'));
    assert.ok(files.map((name) => fileURLToPath(name)).some((path) => path.endsWith('decide.ts')));
    assert.equal(main('operator').has('mongodb'), false);
    // The same look finds it where it is.
    assert.equal(main('syncer').has('mongodb'), true);
  });
});
