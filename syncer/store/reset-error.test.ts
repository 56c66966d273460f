import assert from 'node:assert/strict';
import { resetError, resetWaitsFor } from './reset-error.ts';

describe('what a reset waits for', () => {
  const instances = ['a', 'b', 'c'];
  const cases: readonly (readonly [readonly string[], readonly string[], string | undefined])[] = [
    [['a'], [], 'b and c have not been given reset'],
    [['a', 'b'], ['a', 'b'], 'c has not been given reset'],
    [instances, [], 'a and b and c have not ended the work'],
    [instances, ['a', 'c'], 'b has not ended the work'],
    [instances, instances, undefined],
    // What an instance of another name has done counts for nobody.
    [['a', 'b', 'x'], ['a', 'b', 'x'], 'c has not been given reset'],
    [instances, ['a', 'b', 'x'], 'c has not ended the work'],
  ];
  for (const [received, ended, expected] of cases) {
    it(`is ${expected ?? 'nothing'}, where ${received.join()} were given it and ${ended.join() || 'none'} ended`, () => {
      const reset = { destination: 'Clean', received, ended } as const;
      assert.equal(resetWaitsFor(instances, reset), expected);
      const error = resetError({ reset, instances });
      assert.equal(error?.name, 'ResetUnderWay');
      assert.ok(error.message.endsWith(expected ?? 'the destination Clean'));
    });
  }

  it('is no obstacle where the sync is not reset', () => {
    assert.equal(resetError({ reset: null, instances }), undefined);
  });
});
