import assert from 'node:assert/strict';
import { decide } from './decide.ts';
import type { World } from './decision.ts';
import {
  clusterSync,
  emptyWorld,
  podName,
  progress,
  runningPod,
  runningWorld,
} from './testing/worlds.ts';

describe('the status of a ClusterSync', () => {
  it('keeps 16 KiB of the progress of a syncer, and says how much it leaves out', () => {
    const raw = { state: 'RUNNING', info: 'x'.repeat(100 * 1024) };
    const { status } = decide(clusterSync(), runningWorld(progress(raw)));
    assert.ok(JSON.stringify(status).length < 24 * 1024);
    const [instance] = status.instances ?? [];
    assert.equal(instance?.progress?.['omittedFields'], 1);
    assert.equal(instance.progress['state'], 'RUNNING');
  });

  const uri = 'mongodb://admin:secret@db/';
  const description = `cannot reach ${uri}`;
  const waiting = { reason: 'ImagePullBackOff', message: description };
  const container = { name: 'syncer', image: '', imageID: '', ready: false, restartCount: 0 };
  const unpulled = {
    ...runningPod(),
    status: { containerStatuses: [{ ...container, state: { waiting } }] },
  };
  const told: readonly (readonly [string, World])[] = [
    [
      'why a pod does not answer',
      runningWorld(undefined, { observation: { unreachable: { sinceMs: 0, description } } }),
    ],
    [
      'an error of a pod',
      runningWorld({ kind: 'error', error: { name: 'X', description, isLasting: true } }),
    ],
    [
      'the progress of another tool',
      runningWorld(
        progress({ state: 'RUNNING', info: uri, warnings: [uri], more: { [uri]: [uri] } }),
      ),
    ],
    ['the kubelet', emptyWorld({ pods: new Map([[podName, unpulled]]) })],
    [
      'the API server',
      emptyWorld({ rejection: { reason: 'X', message: description, level: 'warning' } }),
    ],
  ];
  for (const [who, world] of told) {
    it(`keeps connection strings out, by whomever they are told: ${who}`, () => {
      const status = JSON.stringify(decide(clusterSync(), world).status);
      assert.match(status, /<credentials>/);
      assert.doesNotMatch(status, /secret/);
    });
  }
});
