import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** An import, or an export of what is imported, at the beginning of a line: with names, or for its effects alone. */
const statement = /^(?:import|export)\b(?:[^;']*?\bfrom)?\s*'([^']+)'/gms;

/** A dynamic import. */
const deferred = /\bimport\(\s*'([^']+)'\s*\)/g;

/** All modules that a file loads, by relative imports and transitively; packages by name. */
function loadedBy(
  file: URL,
  expressions: readonly RegExp[] = [statement, deferred],
  loaded = new Set<string>(),
): Set<string> {
  if (loaded.has(file.href)) return loaded;
  loaded.add(file.href);
  const text = readFileSync(file, 'utf8');
  for (const [found, name = ''] of expressions.flatMap((each) => [...text.matchAll(each)])) {
    if (/^(?:import|export) type\b/.test(found)) continue;
    if (name.startsWith('.')) loadedBy(new URL(name, file), expressions, loaded);
    else loaded.add(name);
  }
  return loaded;
}

const at = (path: string): URL => new URL(`../${path}`, import.meta.url);

describe('the operator', () => {
  it('loads no driver', () => {
    const loaded = loadedBy(at('operator/main.ts'));
    const files = [...loaded].filter((name) => name.startsWith('file:'));
    assert.ok(files.map((name) => fileURLToPath(name)).some((path) => path.endsWith('decide.ts')));
    assert.equal(loaded.has('mongodb'), false);
    // The executable loads each program on demand: before, it loads none of them, nor the driver.
    const executable = loadedBy(at('bin/clustersync.ts'), [statement]);
    assert.equal(executable.has(at('operator/main.ts').href), false);
    assert.equal(executable.has('mongodb'), false);
    // The same search finds the driver where it is used.
    assert.equal(loadedBy(at('syncer/main.ts')).has('mongodb'), true);
    assert.equal(loadedBy(at('bin/clustersync.ts')).has('mongodb'), true);
  });
});
