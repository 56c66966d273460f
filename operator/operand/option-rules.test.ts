import assert from 'node:assert/strict';
import { optionsCause } from './option-rules.ts';
import type { PodOverlay } from './pod-template.ts';

describe('the image of an operand', () => {
  const own = 'example.dev/clustersync:1';
  const causeOf = (image: string | undefined, ...images: readonly string[]) =>
    optionsCause(
      image === undefined ? {} : { image },
      { image: own, images, podFields: [] },
      'syncer',
    );

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

describe('the template of the pods of an operand', () => {
  const causeOf = (podTemplate: PodOverlay, ...podFields: readonly string[]) =>
    optionsCause({ podTemplate }, { image: 'own', images: [], podFields }, 'verifier');
  const low = { spec: { priorityClassName: 'low' } };

  it('has no field that is not allowed', () => {
    for (const [overlay, path, ...allowed] of [
      [low, 'spec.priorityClassName'],
      [low, 'spec.priorityClassName', 'spec.priorityClassName=lowest', 'metadata.labels'],
      [low, 'spec.priorityClassName', 'spec', 'spec.priority', 'priorityClassName'],
      [{ metadata: { labels: {} } }, 'metadata.labels', 'metadata.annotations'],
      [{ ...low, metadata: { labels: {} } }, 'spec.priorityClassName', 'metadata.labels'],
      [{ spec: { containers: [] } }, 'spec.containers', 'spec.initContainers'],
      [
        { spec: { priorityClassName: ['low'] } },
        'spec.priorityClassName',
        'spec.priorityClassName=low',
      ],
    ] as const) {
      assert.deepEqual(causeOf(overlay, ...allowed), {
        ...{ reason: 'PodFieldNotAllowed', level: 'stalled' },
        message: `spec.verifier.podTemplate.${path} is not allowed by the operator's option operandPodFields: omit it, or have an administrator add it`,
      });
    }
  });

  it('has those that are allowed, or have a value that is', () => {
    assert.equal(causeOf({}), undefined);
    assert.equal(causeOf(low, 'spec.priorityClassName'), undefined);
    assert.equal(causeOf(low, 'spec.priorityClassName=low'), undefined);
    const labels = { ...low, metadata: { labels: {} } };
    assert.equal(causeOf(labels, 'metadata.labels', 'spec.priorityClassName=low'), undefined);
  });

  it('has nothing that the operator relies on, whatever is allowed', () => {
    assert.deepEqual(causeOf({ spec: { hostPID: true } }, 'spec.hostPID'), {
      ...{ reason: 'InvalidPodTemplate', level: 'stalled' },
      message:
        'spec.verifier.podTemplate.spec.hostPID cannot be set, only automountServiceAccountToken, containers, dnsConfig, dnsPolicy, hostAliases, initContainers, preemptionPolicy, priorityClassName, runtimeClassName, schedulerName, securityContext, serviceAccountName, topologySpreadConstraints, volumes',
    });
  });
});
