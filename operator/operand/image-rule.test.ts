import assert from 'node:assert/strict';
import { troubleOfImage } from './image-rule.ts';

describe('the image of an operand', () => {
  const own = 'example.dev/clustersync:1';
  const troubleOf = (image: string | undefined, ...images: readonly string[]) =>
    troubleOfImage(image === undefined ? {} : { image }, { image: own, images }, 'spec.syncer');

  it('is the operator’s own without asking', () => {
    assert.equal(troubleOf(undefined), undefined);
    assert.equal(troubleOf(own), undefined);
  });

  it('is no other one, where none are allowed', () => {
    for (const image of ['example.dev/clustersync:2', 'example.dev/clustersync', 'other']) {
      const trouble = troubleOf(image);
      assert.deepEqual([trouble?.reason, trouble?.level], ['ImageNotAllowed', 'stalled']);
      assert.match(trouble?.message ?? '', /^spec\.syncer\.image is none .*operandImages/);
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
      for (const image of taken)
        assert.equal(troubleOf(image, 'other.dev', entry), undefined, image);
      for (const image of refused) assert.ok(troubleOf(image, 'other.dev', entry), image);
    });
  }
});
