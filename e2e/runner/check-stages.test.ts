import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { checkStages, typeProjects, type CheckedState, type Scripts } from './check-stages.ts';

const checkout = new URL('../../', import.meta.url);

const { scripts } = JSON.parse(readFileSync(new URL('package.json', checkout), 'utf8')) as {
  readonly scripts: Scripts;
};

function stateOf(more: Partial<CheckedState>): CheckedState {
  return { changed: [], exists: () => true, unchanged: [], ...more };
}

describe('checkStages', () => {
  it('runs every command of the scripts of package.json, each with a cache of its own', () => {
    const stages = checkStages(scripts, stateOf({}));
    const commands = [scripts.lint, scripts.typecheck, scripts['format:check']].join(' && ');
    assert.equal(stages.map(({ name }) => name).join(' && '), commands);
    const caches = stages.map(({ command }) => command.findLast((arg) => arg.includes('/.cache/')));
    assert.equal(new Set(caches).size, stages.length);
    assert.ok(!caches.includes(undefined));
    for (const { name, command } of stages)
      assert.ok(command.join(' ').startsWith(`node_modules/.bin/${name} --`));
  });

  it('refuses a script of a program whose cache it does not know', () => {
    assert.throws(
      () => checkStages({ ...scripts, lint: 'oxlint .' }, stateOf({})),
      /no cache is known of oxlint/,
    );
  });

  it('runs the tests that have changed, and those of changed files, each once', () => {
    const changed = ['a/one.ts', 'a/one.test.ts', 'b/two.test.ts', 'b/no-test.ts', 'c/three.md'];
    const there = ['a/one.test.ts', 'b/two.test.ts', 'c/three.test.ts'];
    const exists = (path: string): boolean => there.includes(path);
    const stages = checkStages(scripts, stateOf({ changed, exists }));
    const last = stages.at(-1);
    assert.equal(last?.work.kind, 'mocha');
    assert.deepEqual(last.command.slice(2), ['a/one.test.ts', 'b/two.test.ts']);
  });

  it('has no stage of tests where there is none to run', () => {
    const stages = checkStages(scripts, stateOf({ changed: ['a/one.ts'], exists: () => false }));
    assert.ok(stages.every(({ work }) => work.kind === 'check'));
  });

  it('skips the types of unchanged projects, and nothing else', () => {
    const projects = typeProjects(scripts);
    assert.deepEqual(
      projects.map(({ folder }) => folder),
      ['.', 'dashboard/page', 'docs/site/browser'],
    );
    for (const [index, project] of projects.entries()) {
      const stages = checkStages(scripts, stateOf({ unchanged: [project] }));
      const names = [scripts.lint, ...scripts.typecheck.split(' && '), scripts['format:check']];
      assert.deepEqual(
        stages.map(({ name }) => name),
        names.toSpliced(index + 1, 1),
      );
    }
  });
});
