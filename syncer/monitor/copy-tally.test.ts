import assert from 'node:assert/strict';
import { UUID } from 'mongodb';
import { CopyTally } from './copy-tally.ts';

describe('CopyTally', () => {
  const collection = (coll: string, sizeBytes: number) => ({
    uuid: new UUID(),
    namespace: { db: 'shop', coll },
    sizeBytes,
  });
  const [orders, items, small] = [
    collection('orders', 300),
    collection('items', 200),
    collection('small', 0),
  ];
  const parts = [{ collection: orders }, { collection: orders }, { collection: items }];

  it('shows what is under way before what waits, and that before what is done', () => {
    const tally = new CopyTally();
    tally.begin([...parts, { collection: small }]);
    const names = (): string[] =>
      tally.page(10).collections.map(({ namespace }) => namespace.slice('shop.'.length));
    assert.deepEqual(names(), ['orders', 'items', 'small']);
    tally.addCopied(items.uuid, 50);
    assert.deepEqual(names(), ['items', 'orders', 'small']);
    tally.endPart(small.uuid);
    tally.endPart(items.uuid);
    assert.deepEqual(names(), ['orders', 'items', 'small']);
    assert.deepEqual(tally.page(1), {
      collections: [
        {
          namespace: 'shop.orders',
          estimatedTotalBytes: 300,
          estimatedCopiedBytes: 0,
          isCopied: false,
        },
      ],
      total: 3,
      copied: 2,
    });
  });

  it('takes a collection for copied when its last part is', () => {
    const tally = new CopyTally();
    tally.begin(parts);
    tally.endPart(orders.uuid);
    assert.equal(tally.page(1).copied, 0);
    tally.endPart(orders.uuid);
    assert.equal(tally.page(1).copied, 1);
  });

  it('forgets what was before when it starts over, and knows nothing of other collections', () => {
    const tally = new CopyTally();
    tally.begin(parts);
    tally.begin([{ collection: items }]);
    tally.addCopied(orders.uuid, 1);
    tally.endPart(orders.uuid);
    assert.deepEqual(
      tally.page(10).collections.map(({ namespace }) => namespace),
      ['shop.items'],
    );
  });
});
