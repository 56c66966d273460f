import assert from 'node:assert/strict';
import { isReplaced } from './on-record.ts';

describe('isReplaced', () => {
  const metadata = { namespace: 'team', name: 'shop', uid: '1', generation: 3 };

  it('is false as long as the spec is the one that was read, whatever became of the status', () => {
    assert.equal(
      isReplaced({ metadata }, { metadata: { ...metadata, resourceVersion: '9' } }),
      false,
    );
  });

  for (const [what, newest] of [
    ['another spec', { metadata: { ...metadata, generation: 4 } }],
    ['another one of its name', { metadata: { ...metadata, uid: '2' } }],
    ['none', undefined],
  ] as const)
    it(`is true with ${what}`, () => {
      assert.equal(isReplaced({ metadata }, newest), true);
    });
});
