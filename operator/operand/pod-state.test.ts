import assert from 'node:assert/strict';
import type { Pod } from '../kube/builtin-resources.ts';
import {
  orWithItsSecret,
  podState,
  podStateWith,
  runningPods,
  withOverdueEnd,
} from './pod-state.ts';
import { nowMs, runningOperandPod } from './testing/running-pod.ts';

type Container = NonNullable<NonNullable<Pod['status']>['containerStatuses']>[number];

const digest = `sha256:${'5f'.repeat(32)}`;
const reported = `registry.example.dev:5000/clustersync@${digest}`;
const terminated = { exitCode: 137 };

/** A pod whose container has this status. */
function podWith(container: Partial<Container>, deletionTimestamp?: string): Pod {
  const { metadata, status, ...pod } = runningOperandPod('syncer', 'orders-syncer-0', ['--id=old']);
  const containerStatuses = status?.containerStatuses?.map((each) => ({ ...each, ...container }));
  return {
    ...pod,
    metadata: { ...metadata, ...(deletionTimestamp !== undefined && { deletionTimestamp }) },
    status: { ...status, ...(containerStatuses && { containerStatuses }) },
  };
}

describe('the image of a pod', () => {
  for (const [runtime, imageID, image] of [
    ['containerd', reported, reported],
    ['containerd, of an image that no registry has', digest, digest],
    ['CRI-O, of an image that no registry has', '5f'.repeat(32), '5f'.repeat(32)],
    ['Docker', `docker-pullable://${reported}`, reported],
    ['Docker, of an image that no registry has', `docker://${digest}`, digest],
    ['a longer one than the status may have', `docker-pullable://${'a'.repeat(1025)}`, undefined],
    ['none yet', '', undefined],
    ['only a scheme', 'docker://', undefined],
  ] as const) {
    it(`is what the kubelet reports, without a scheme: ${runtime}`, () => {
      assert.equal(podState(podWith({ imageID }), 'syncer').image, image);
    });
  }

  const deleted = '2026-01-01T12:00:00Z';
  const ended = { state: { terminated } };
  const crashing = {
    state: { waiting: { reason: 'CrashLoopBackOff' } },
    lastState: { terminated },
  };
  for (const [what, container, deletionTimestamp, args, isShown] of [
    ['runs', {}, undefined, [], true],
    ['has ended, and will be started again', crashing, undefined, [], true],
    ['runs until its pod is deleted', {}, deleted, [], true],
    ['has ended in a pod that is being deleted', ended, deleted, [], false],
    ['runs until its pod is replaced', {}, undefined, ['--id=other'], true],
    ['has ended in a pod that is about to be replaced', crashing, undefined, ['--id=other'], false],
  ] as const) {
    it(`is${isShown ? '' : ' not'} that of a container that ${what}`, () => {
      const pod = podWith({ imageID: reported, ...container }, deletionTimestamp);
      const expected = new Map(args.map((argument) => [argument, 'is being replaced']));
      assert.equal(podStateWith(pod, 'syncer', expected).image, isShown ? reported : undefined);
    });
  }

  it('that runs until its pod is replaced is kept from nothing by a Secret that is missing', () => {
    const unusable = { reason: 'SecretNotFound', message: 'no Secret', level: 'warning' } as const;
    const expected = new Map([['--id=other', 'is being replaced']]);
    for (const [container, reason, running] of [
      [{}, 'PodPending', 'all'],
      [{ state: { waiting: { reason: 'ContainerCreating' } } }, 'SecretNotFound', 'none'],
    ] as const) {
      const state = podStateWith(podWith({ imageID: reported, ...container }), 'syncer', expected);
      assert.equal(orWithItsSecret(state, unusable).cause?.reason, reason);
      assert.equal(runningPods([state]), running);
    }
  });

  it('is unknown before the kubelet reports anything, and is none of another container', () => {
    const pod = podWith({ name: 'sidecar', imageID: reported });
    assert.equal(podState(pod, 'syncer').image, undefined);
    const { status: _, ...unscheduled } = pod;
    assert.equal(podState(unscheduled, 'syncer').image, undefined);
  });
});

describe('a pod that was to end', () => {
  const pod = runningOperandPod('syncer', 'orders-syncer-0', []);
  const ended: readonly (readonly [
    what: string,
    secondsAgo: number | undefined,
    status: Pod['status'],
    reason: string | undefined,
  ])[] = [
    ['is not ending', undefined, pod.status, undefined],
    ['is in its grace period', -10, pod.status, 'PodPending'],
    ['has not ended within a minute', 59, pod.status, 'PodPending'],
    ['has not ended after a minute', 60, pod.status, 'NodeUnresponsive'],
    ['has ended, and is kept by a finalizer', 600, { phase: 'Succeeded' }, 'PodPending'],
  ];
  for (const [what, secondsAgo, status, reason] of ended)
    it(`${what}: ${reason ?? 'it runs'}`, () => {
      const deletionTimestamp =
        secondsAgo === undefined ? undefined : new Date(nowMs - secondsAgo * 1000).toISOString();
      const given = {
        ...pod,
        metadata: {
          ...pod.metadata,
          ...(deletionTimestamp !== undefined && { deletionTimestamp }),
        },
        spec: { containers: [], ...pod.spec, nodeName: 'node-7' },
        status,
      } as Pod;
      const { cause } = withOverdueEnd(podState(given, 'syncer'), given, nowMs);
      assert.equal(cause?.reason, reason);
      if (reason !== 'NodeUnresponsive') return;
      assert.equal(cause?.level, 'stalled');
      assert.match(
        cause.message,
        /kubectl taint nodes node-7 node\.kubernetes\.io\/out-of-service=/,
      );
    });
});
