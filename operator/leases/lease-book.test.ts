import assert from 'node:assert/strict';
import type { Lease } from '../kube/builtin-resources.ts';
import type { DeleteOptions, KubeClient } from '../kube/client.ts';
import type { ObjectRef } from '../kube/resource.ts';
import { LeaseBook } from './lease-book.ts';

describe('LeaseBook', () => {
  it('deletes a Lease only as it was read: somebody may have taken it since then', async () => {
    const metadata = { namespace: 'system', name: 'claim', uid: 'uid-1', resourceVersion: '7' };
    const lease: Lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata };
    const deleted: object[] = [];
    const client = {
      delete: (_: unknown, { namespace, name }: ObjectRef, options: DeleteOptions) => {
        deleted.push({ namespace, name, preconditions: options.preconditions });
        return Promise.resolve(true);
      },
    } as unknown as KubeClient;
    const book = new LeaseBook(client, 'system', {
      get: (key) => (key === 'system/claim' ? lease : undefined),
      list: () => [lease],
    });
    assert.equal(await book.remove('claim', new AbortController().signal), true);
    const preconditions = { uid: 'uid-1', resourceVersion: '7' };
    assert.deepEqual(deleted, [{ namespace: 'system', name: 'claim', preconditions }]);
    // The cache still has it.
    assert.equal(book.get('claim'), undefined);
  });
});
