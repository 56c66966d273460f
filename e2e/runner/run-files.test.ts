import assert from 'node:assert/strict';
import { mochaArgsOf } from './run-files.ts';

describe('mochaArgsOf', () => {
  for (const [name, config] of [
    ['a.test.ts', '.mocharc.json'],
    ['a.integration.ts', 'e2e/integration.mocharc.json'],
    ['a.e2e.ts', 'e2e/cluster.mocharc.json'],
  ] as const) {
    it(`runs ${name} with ${config}`, () => {
      const args = mochaArgsOf([name, '--grep', 'x.ts'], (end) => [`somewhere/${end}`]);
      assert.deepEqual(args, ['--config', config, `somewhere/${name}`, '--grep', 'x.ts']);
    });
  }

  it('finds a file of this checkout by its path and by the end of it', () => {
    const path = 'e2e/runner/run-files.test.ts';
    for (const name of [
      path,
      'runner/run-files.test.ts',
      'run-files.test.ts',
      import.meta.filename,
    ])
      assert.equal(mochaArgsOf([name])[2], name === import.meta.filename ? name : path);
  });

  it('runs all files that have the same end, and several', () => {
    const find = (end: string): readonly string[] => [`one/${end}`, `two/${end}`];
    const args = mochaArgsOf(['a.test.ts', 'b.test.ts', '--bail'], find);
    const files = ['one/a.test.ts', 'two/a.test.ts', 'one/b.test.ts', 'two/b.test.ts'];
    assert.deepEqual(args.slice(2), [...files, '--bail']);
  });

  for (const [names, problem] of [
    [[], /the name of a test file is missing/],
    [['--grep', 'a'], /the name of a test file is missing/],
    [['gone.test.ts'], /there is no file gone\.test\.ts/],
    [['service/redact.ts'], /service\/redact\.ts is no test file/],
    [['redact.test.ts', 'killed.e2e.ts'], /files of several levels cannot be run together/],
  ] as const) {
    it(`refuses ${JSON.stringify(names)}`, () => {
      assert.throws(() => mochaArgsOf(names), problem);
    });
  }
});
