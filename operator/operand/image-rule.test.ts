import assert from 'node:assert/strict';
import { imageCause } from './image-rule.ts';

describe('the image of an operand', () => {
  const own = 'example.dev/clustersync:1';
  const causeOf = (image: string | undefined, ...images: readonly string[]) =>
    imageCause(image === undefined ? {} : { image }, { image: own, images }, 'spec.syncer');

  it('is the operator’s own without asking', () => {
    assert.equal(causeOf(undefined), undefined);
    assert.equal(causeOf(own), undefined);
  });

  it('is no other one, where none are allowed', () => {
    for (const image of ['example.dev/clustersync:2', 'example.dev/clustersync', 'other']) {
      const cause = causeOf(image);
      assert.deepEqual([cause?.reason, cause?.level], ['ImageNotAllowed', 'stalled']);
      assert.match(cause?.message ?? '', /^spec\.syncer\.image is not allowed .*operandImages/);
    }
  });

  for (const [entry, taken, refused] of [
    [
      'example.dev',
      ['example.dev/a', 'example.dev/a/b:1', 'example.dev/a@sha256:0'],
      ['example.dev.evil.dev/a', 'example.dev:5000/a', 'example.devil/a', 'evil.dev/example.dev'],
    ],
    ['example.dev/', ['example.dev/a:1'], ['example.dev.evil.dev/a', 'example.dev:5000/a']],
    ['example.dev:5000', ['example.dev:5000/a'], ['example.dev/a', 'example.dev:50001/a']],
    [
      'example.dev/team',
      ['example.dev/team/a:1', 'example.dev/team:1', 'example.dev/team@sha256:0'],
      ['example.dev/team-of-others/a', 'example.dev/teams', 'Example.dev/team/a'],
    ],
    ['example.dev/a:1', ['example.dev/a:1', 'example.dev/a:1@sha256:0'], ['example.dev/a:10']],
  ] as const) {
    it(`is one of ${entry}, and none that only begins as that does`, () => {
      for (const image of taken) assert.equal(causeOf(image, 'other.dev', entry), undefined, image);
      for (const image of refused) assert.ok(causeOf(image, 'other.dev', entry), image);
    });
  }
});
