import assert from 'node:assert/strict';
import { Timestamp } from 'mongodb';
import { fateOf, requireView, type EventFate } from './apply-catalog-event.ts';

/** All events that servers up to 8.3 send, apart from document changes, and those that need `showSystemEvents`. */
const fates: Readonly<Record<EventFate, readonly string[]>> = {
  applied: [
    'create',
    'createIndexes',
    'drop',
    'dropDatabase',
    'dropIndexes',
    'modify',
    'rename',
    'shardCollection',
  ],
  passedOver: ['endOfTransaction', 'refineCollectionShardKey'],
  refused: ['reshardBegin', 'reshardCollection', 'reshardDoneCatchUp', 'of a later server', ''],
};

describe('fateOf', () => {
  for (const [fate, operations] of Object.entries(fates))
    for (const operation of operations)
      it(`${operation === '' ? 'none' : operation}: ${fate}`, () => {
        assert.equal(fateOf(operation), fate);
      });
});

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
