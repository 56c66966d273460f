import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { checkStages, type Scripts } from './check-stages.ts';

const checkout = new URL('../../', import.meta.url);

const { scripts } = JSON.parse(readFileSync(new URL('package.json', checkout), 'utf8')) as {
  readonly scripts: Scripts;
};

describe('checkStages', () => {
  it('runs every command of the scripts of package.json, each with a cache of its own', () => {
    const stages = checkStages(scripts, [], () => true);
    const commands = [scripts.typecheck, scripts.lint, scripts['format:check']].join(' && ');
    assert.equal(stages.map(({ name }) => name).join(' && '), commands);
    const caches = stages.map(({ command }) => command.findLast((arg) => arg.includes('/.cache/')));
    assert.equal(new Set(caches).size, stages.length);
    assert.ok(!caches.includes(undefined));
    for (const { name, command } of stages)
      assert.ok(command.join(' ').startsWith(`node_modules/.bin/${name} --`));
  });

  it('refuses a script of a program whose cache it does not know', () => {
    assert.throws(
      () => checkStages({ ...scripts, lint: 'oxlint .' }, [], () => true),
      /no cache is known of oxlint/,
    );
  });

  it('runs the tests that have changed, and those beside what has changed, once', () => {
    const changed = ['a/one.ts', 'a/one.test.ts', 'b/two.test.ts', 'b/no-test.ts', 'c/three.md'];
    const there = ['a/one.test.ts', 'b/two.test.ts', 'c/three.test.ts'];
    const stages = checkStages(scripts, changed, (path) => there.includes(path));
    const last = stages.at(-1);
    assert.equal(last?.work.kind, 'mocha');
    assert.deepEqual(last.command.slice(2), ['a/one.test.ts', 'b/two.test.ts']);
  });

  it('has no stage of tests where there is none to run', () => {
    const stages = checkStages(scripts, ['a/one.ts'], () => false);
    assert.ok(stages.every(({ work }) => work.kind === 'check'));
  });
});
