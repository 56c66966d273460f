import assert from 'node:assert/strict';
import { controllerKey, controllerOf, controllerReference, isControlledBy } from './owner.ts';
import type { KubeObject } from './resource.ts';

const owner: KubeObject = {
  apiVersion: 'example.dev/v1alpha1',
  kind: 'Widget',
  metadata: { namespace: 'shop', name: 'orders', uid: 'u1' },
};
const owned: KubeObject = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: {
    namespace: 'shop',
    name: 'orders-0',
    ownerReferences: [
      { apiVersion: 'v1', kind: 'Pod', name: 'bystander', uid: 'u0' },
      controllerReference(owner),
    ],
  },
};

describe('controllerReference', () => {
  it('needs the uid of the owner', () => {
    const unread = { ...owner, metadata: { name: 'orders' } };
    assert.throws(() => controllerReference(unread), /Widget orders has no uid/);
  });

  it('is found among other owners', () => {
    assert.equal(controllerOf(owned)?.name, 'orders');
  });
});

describe('isControlledBy', () => {
  it('is told by the uid, not by the name', () => {
    assert.equal(isControlledBy(owned, owner), true);
    const namesake = { ...owner, metadata: { ...owner.metadata, uid: 'u2' } };
    assert.equal(isControlledBy(owned, namesake), false);
    assert.equal(isControlledBy(owner, owner), false);
  });
});

describe('controllerKey', () => {
  it('is the key of the controller in the namespace of the object', () => {
    assert.equal(controllerKey(owned, { group: 'example.dev', kind: 'Widget' }), 'shop/orders');
  });

  it('is nothing for another kind, another group, or without a controller', () => {
    assert.equal(controllerKey(owned, { group: 'example.dev', kind: 'Pod' }), undefined);
    assert.equal(controllerKey(owned, { group: 'example.com', kind: 'Widget' }), undefined);
    assert.equal(controllerKey(owner, { group: 'example.dev', kind: 'Widget' }), undefined);
  });
});
