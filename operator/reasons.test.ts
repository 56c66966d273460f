import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';

const root = new URL('../', import.meta.url);
const folders = 'operator/{.,clustersync,commit,verification,operand}/*.ts';

describe('docs/reference/conditions.md', () => {
  it('explains every reason', () => {
    const documented = readFileSync(new URL('docs/reference/conditions.md', root), 'utf8');
    const sources = globSync(folders, { cwd: root.pathname, exclude: ['**/*.test.ts'] });
    assert.ok(sources.length > 10);
    const reasons = new Set(
      sources.flatMap((path) => {
        const text = readFileSync(new URL(path, root), 'utf8');
        return [...text.matchAll(/\breason: (?:[^',\n]*\? )?'(\w+)'(?: : '(\w+)')?/g)].flatMap(
          ([, one, other]) => [one, other].filter((reason) => reason !== undefined),
        );
      }),
    );
    // Events have their own reasons, which explain themselves.
    for (const reason of ['Succeeded']) reasons.delete(reason);
    assert.ok(reasons.size > 20);
    const missing = [...reasons].filter((reason) => !documented.includes(`\`${reason}\``));
    assert.deepEqual(missing, []);
  });
});
