import assert from 'node:assert/strict';
import { BSON, Timestamp, UUID } from 'mongodb';
import { MalformedAnswer } from '../../mongo/malformed-answer.ts';
import { endOfTransaction } from '../../mongo/server-features.ts';
import { parseChangeEvent } from './change-event.ts';

const event = { _id: { _data: '82' }, clusterTime: new Timestamp({ t: 1_700_000_000, i: 7 }) };
const parsed = (more: object): ReturnType<typeof parseChangeEvent> =>
  parseChangeEvent(BSON.serialize({ ...event, ...more }));

describe('an event without a namespace', () => {
  it('is refused by its name if it is unknown', () => {
    assert.throws(() => parsed({ operationType: 'moveDatabase' }), {
      name: 'ChangeNotSupported',
      message: 'moveDatabase on the source is not supported',
    });
  });

  for (const operationType of ['drop', endOfTransaction])
    it(`is malformed if it is ${operationType}`, () => {
      assert.throws(() => parsed({ operationType }), MalformedAnswer);
    });
});

it('an unknown event with a namespace is read, so that its namespace decides', () => {
  const collectionUUID = new UUID();
  const ns = { db: 'shop', coll: 'orders' };
  const read = parsed({ operationType: 'reshardBegin', ns, collectionUUID });
  assert.ok(read.type === 'catalog');
  assert.deepEqual([read.operation, read.namespace], ['reshardBegin', ns]);
});
