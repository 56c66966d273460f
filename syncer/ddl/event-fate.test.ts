import assert from 'node:assert/strict';
import { fateOf, type EventFate } from './event-fate.ts';

/** All that servers up to 8.3 send, apart from changes of documents, and from what they send with `showSystemEvents` alone. */
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
