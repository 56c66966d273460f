import assert from 'node:assert/strict';
import { createLogger } from '../../service/logger.ts';
import type { Lease } from '../kube/builtin-resources.ts';
import type { KubeClient } from '../kube/client.ts';
import { FakeClock } from '../kube/testing/fake-clock.ts';
import { OwnedNamespaces, ownershipLeaseName } from './owned-namespaces.ts';

const leaseDurationMs = 30_000;

/** An API server with at most one Lease. */
class Server {
  lease: Lease | undefined;
  readonly client = {
    find: () => Promise.resolve(this.lease),
    replace: (_: unknown, lease: Lease) => {
      this.lease = { ...lease, metadata: { ...lease.metadata, uid: 'new', resourceVersion: '1' } };
      return Promise.resolve(this.lease);
    },
  } as unknown as KubeClient;
}

describe('OwnedNamespaces', () => {
  it('waits for the last owner that was seen, though its Lease was deleted: it may not know yet', async () => {
    const server = new Server();
    const clock = new FakeClock();
    server.lease = {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { namespace: 'shop', name: ownershipLeaseName, uid: 'old', resourceVersion: '1' },
      spec: { holderIdentity: 'other', leaseDurationSeconds: leaseDurationMs / 1_000 },
    };
    const namespaces = new OwnedNamespaces({
      ...{ client: server.client, identity: 'own', leaseDurationMs, clock },
      isInUse: () => true,
      isKnown: () => true,
      logger: createLogger('test', 'fatal'),
    });
    const stop = new AbortController();
    const running = namespaces.run(stop.signal);
    namespaces.add('shop');
    await clock.advance(0);
    assert.deepEqual(namespaces.ownership('shop'), { kind: 'others', holder: 'other' });

    server.lease = undefined;
    await clock.advance(leaseDurationMs - 1);
    assert.deepEqual(namespaces.ownership('shop'), { kind: 'own' });
    assert.equal(namespaces.isOwned('shop'), false);
    await clock.advance(1);
    assert.equal(namespaces.isOwned('shop'), true);

    stop.abort();
    await running;
    assert.equal(clock.pendingTimers, 0);
  });
});
