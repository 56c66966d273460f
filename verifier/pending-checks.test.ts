import assert from 'node:assert/strict';
import { BSON } from 'mongodb';
import { idKey, type IdKey } from './compare/id-key.ts';
import { PendingChecks } from './pending-checks.ts';

const items = { db: 'shop', coll: 'items' };
const orders = { db: 'shop', coll: 'orders' };

function key(_id: unknown): IdKey {
  return idKey(BSON.serialize({ _id }));
}

describe('PendingChecks', () => {
  it('gives what was added once, and forgets it', () => {
    const pending = new PendingChecks();
    pending.addId(items, key(1));
    pending.addId(items, key(1));
    pending.addMetadata(orders);
    pending.addDatabase('old');
    assert.equal(pending.count, 3);
    const { namespaces, databases } = pending.take();
    assert.deepEqual(
      namespaces.map(({ namespace, metadata, whole, ids }) => ({
        namespace,
        metadata,
        whole,
        ids,
      })),
      [
        { namespace: items, metadata: false, whole: false, ids: new Set([key(1)]) },
        { namespace: orders, metadata: true, whole: false, ids: new Set() },
      ],
    );
    assert.deepEqual([...databases], ['old']);
    assert.equal(pending.isEmpty, true);
    assert.equal(pending.count, 0);
  });

  it('compares a namespace as a whole when too many of its ids wait', () => {
    const pending = new PendingChecks(undefined, { idsPerNamespace: 2, totalLength: 1000 });
    for (const id of [1, 2, 3, 4]) pending.addId(items, key(id));
    pending.addId(orders, key(1));
    const [first, second] = pending.take().namespaces;
    assert.equal(first?.whole, true);
    assert.equal(first.metadata, true);
    assert.equal(first.ids.size, 0);
    assert.equal(second?.ids.size, 1);
  });

  it('gives up the ids of the largest namespace when all together are too long', () => {
    const pending = new PendingChecks(undefined, { idsPerNamespace: 100, totalLength: 100 });
    pending.addId(items, key('x'.repeat(60)));
    pending.addId(orders, key('x'.repeat(50)));
    pending.addId(orders, key('y'));
    const [first, second] = pending.take().namespaces;
    assert.equal(first?.whole, true);
    assert.equal(second?.whole, false);
    assert.equal(second.ids.size, 2);
  });

  it('tells of each addition', () => {
    let told = 0;
    const pending = new PendingChecks(() => told++);
    pending.addId(items, key(1));
    pending.addWhole(items);
    assert.equal(told, 2);
  });
});
