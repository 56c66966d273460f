import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const folders = [
  'bin',
  'cli',
  'crds',
  'dashboard',
  'mongo',
  'operator',
  'service',
  'sync-api',
  'syncer',
  'verifier',
];
const imported = /^(?:import|export)\b[^;]*?from '(\.[^']+)'/gms;

/** What each source file of some folders imports of the others, types as well. */
function importsIn(names: readonly string[]): Map<string, readonly string[]> {
  const files = names.flatMap((name) => {
    const root = new URL(`../${name}/`, import.meta.url);
    return readdirSync(root, { recursive: true, encoding: 'utf8' })
      .filter((path) => /\.tsx?$/.test(path))
      .map((path) => new URL(path, root));
  });
  const targets = (file: URL): string[] =>
    [...readFileSync(file, 'utf8').matchAll(imported)].map(
      ([, path = '']) => new URL(path, file).href,
    );
  return new Map(files.map((file) => [file.href, targets(file)]));
}

/** A way from a file back to itself; undefined where there is none. */
function findCircle(imports: ReadonlyMap<string, readonly string[]>): string[] | undefined {
  const done = new Set<string>();
  const path: string[] = [];
  const walk = (file: string): string[] | undefined => {
    const at = path.indexOf(file);
    if (at !== -1) return [...path.slice(at), file];
    if (done.has(file)) return undefined;
    path.push(file);
    for (const next of imports.get(file) ?? []) {
      const circle = walk(next);
      if (circle) return circle;
    }
    path.pop();
    done.add(file);
    return undefined;
  };
  for (const file of imports.keys()) {
    const circle = walk(file);
    if (circle) return circle;
  }
  return undefined;
}

describe('the imports of the product', () => {
  it('have no circle, not even of types', () => {
    const imports = importsIn(folders);
    const circle = findCircle(imports) ?? [];
    assert.deepEqual(
      circle.map((url) => fileURLToPath(url)),
      [],
    );
    // The same look has seen the files, and finds a circle where there is one.
    assert.ok(imports.size > 300, `${imports.size} files`);
    assert.deepEqual(
      findCircle(
        new Map([
          ['a', ['b']],
          ['b', ['c']],
          ['c', ['b']],
        ]),
      ),
      ['b', 'c', 'b'],
    );
  });
});
