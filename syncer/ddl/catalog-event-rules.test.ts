import assert from 'node:assert/strict';
import { Timestamp } from 'mongodb';
import { requireView } from './catalog-event-rules.ts';

describe('a drop that tells no UUID', () => {
  const at = (second: number): Timestamp => Timestamp.fromBits(1, second);
  const drop = { operation: 'drop', namespace: { db: 'shop', coll: 'orders' }, time: at(20) };

  it('is of no collection that stood there then', () => {
    assert.throws(
      () => {
        requireView(drop, { namedBy: at(19) });
      },
      {
        name: 'InternalError',
        message: /^drop of shop\.orders, but a collection already exists there/,
      },
    );
  });

  it('is of a view where nothing stands there, or what has come later', () => {
    requireView(drop, undefined);
    for (const second of [20, 21]) requireView(drop, { namedBy: at(second) });
    requireView({ ...drop, operation: 'create' }, { namedBy: at(19) });
  });
});
