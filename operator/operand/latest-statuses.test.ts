import assert from 'node:assert/strict';
import type { KubeObject } from '../kube/resource.ts';
import { LatestStatuses } from './latest-statuses.ts';

interface Status {
  readonly phase: string;
}

type Thing = KubeObject & { readonly status?: Status };

function thing(uid: string, status?: Status): Thing {
  return {
    apiVersion: 'clustersync.dev/v1',
    kind: 'Thing',
    metadata: { namespace: 'shop', name: 'orders', uid },
    ...(status && { status }),
  };
}

describe('LatestStatuses', () => {
  it('has the status that was noted for an object, though an older one is in the cache', () => {
    const statuses = new LatestStatuses<Status>();
    const [before, now] = [{ phase: 'before' }, { phase: 'now' }];
    statuses.note(thing('uid-1'), now);
    assert.equal(statuses.has(thing('uid-1')), true);
    assert.deepEqual(statuses.newest(thing('uid-1', before)), thing('uid-1', now));
  });

  it('gives the status of a deleted object to no other one of its name', () => {
    const statuses = new LatestStatuses<Status>();
    statuses.note(thing('uid-1'), { phase: 'deleted' });
    const second = thing('uid-2');
    assert.equal(statuses.has(second), false);
    assert.equal(statuses.newest(second), second);
  });
});
