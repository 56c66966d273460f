import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { readImporters, readReach, specsOf, unitTestsOf } from './reach.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

describe('unitTestsOf', () => {
  const importers = new Map([
    ['a/low.ts', ['a/middle.ts', 'b/other.test.ts', 'a/low.test.ts']],
    ['a/middle.ts', ['a/high.ts', 'a/middle.test.ts']],
    ['a/high.ts', ['a/high.test.ts', 'a/middle.ts', 'b/other.test.ts']],
    ['c/apart.ts', ['c/apart.test.ts']],
  ]);

  it('has the test beside the module first, then the nearest, each once', () => {
    assert.deepEqual(unitTestsOf('a/low.ts', importers), [
      'a/low.test.ts',
      'b/other.test.ts',
      'a/middle.test.ts',
      'a/high.test.ts',
    ]);
  });

  it('has none of a module that no test imports', () => {
    assert.deepEqual(unitTestsOf('a/unknown.ts', importers), []);
  });

  it('finds those of this project', () => {
    const tests = unitTestsOf('verifier/compare/batch-matcher.ts', readImporters(root));
    assert.equal(tests[0], 'verifier/compare/batch-matcher.test.ts');
    assert.ok(!tests.includes('syncer/copy/copy-proof.test.ts'));
  });
});

describe('specsOf', () => {
  it('has those that reach the module, the fastest first', () => {
    const reach = {
      slow: { seconds: 9, modules: ['a.ts'] },
      other: { seconds: 1, modules: ['b.ts'] },
      fast: { seconds: 2, modules: ['a.ts', 'b.ts'] },
    };
    assert.deepEqual(specsOf('a.ts', reach), [
      ['fast', 2],
      ['slow', 9],
    ]);
  });
});

describe('the recorded specs', () => {
  it('are there', () => {
    const specs = Object.keys(readReach());
    assert.deepEqual(
      specs.filter((spec) => !existsSync(`${root}${spec}`)),
      [],
    );
  });
});
