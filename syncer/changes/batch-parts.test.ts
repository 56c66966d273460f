import assert from 'node:assert/strict';
import { BSON, Timestamp, UUID } from 'mongodb';
import { withDocument } from '../source/source-documents.ts';
import { changesBefore, partsOf, readBatch } from './batch-parts.ts';

const time = new Timestamp({ t: 1_700_000_000, i: 7 });

const eventOf = (number: number, fields: object, clusterTime = time): Uint8Array =>
  BSON.serialize({
    _id: { _data: `token ${number}` },
    clusterTime,
    ns: { db: 'shop', coll: 'items' },
    collectionUUID: new UUID(),
    ...fields,
  });

const insertOf = (number: number): Uint8Array => {
  const _id = number;
  return eventOf(number, {
    operationType: 'insert',
    documentKey: { _id },
    fullDocument: { _id, n: 1 },
  });
};

const partsSeen = (events: readonly Uint8Array[]): unknown[] => {
  const bytes = events.reduce((sum, { length }) => sum + length, 0);
  const parts = partsOf(readBatch({ events, bytes, token: BSON.serialize({ _data: 'last' }) }));
  assert.equal(
    parts.reduce((sum, part) => sum + part.bytes, 0),
    bytes,
  );
  return parts.map(({ changes, catalogEvent, token }) => [
    changes.map(({ event }) => event.change.kind).join(),
    catalogEvent?.event.operation,
    String(BSON.deserialize(token)['_data']),
  ]);
};

describe('partsOf', () => {
  it('takes a batch apart at the changes of the catalog, each part with the token of its last event', () => {
    const drop = eventOf(3, { operationType: 'drop' });
    assert.deepEqual(partsSeen([insertOf(1), insertOf(2), drop, drop, insertOf(4)]), [
      ['insert,insert', undefined, 'token 2'],
      ['', 'drop', 'token 3'],
      ['', 'drop', 'token 3'],
      ['insert', undefined, 'last'],
    ]);
    assert.deepEqual(partsSeen([]), [['', undefined, 'last']]);
  });

  it('takes an event apart that has got its document again', () => {
    const update = eventOf(1, { operationType: 'update', documentKey: { _id: 1 } });
    const whole = withDocument(update, 'replace', BSON.serialize({ _id: 1, n: 2 }));
    const to = { db: 'shop', coll: 'renamed' };
    const rename = eventOf(2, { operationType: 'rename', to, operationDescription: { to } });
    assert.deepEqual(partsSeen([whole, rename]), [
      ['replace', undefined, 'token 1'],
      ['', 'rename', 'token 2'],
      ['', undefined, 'last'],
    ]);
    const { operationType, fullDocument, clusterTime } = BSON.deserialize(whole);
    assert.deepEqual(
      [operationType, fullDocument, clusterTime],
      ['replace', { _id: 1, n: 2 }, time],
    );
  });
});

describe('changesBefore', () => {
  const at = (i: number): Timestamp => new Timestamp({ t: 1_700_000_000, i });
  const drops = [1, 3, 3, 5].map((i) => eventOf(i, { operationType: 'drop' }, at(i)));
  const token = BSON.serialize({ _data: 'last' });
  const batch = readBatch({ events: drops, bytes: 1000, token });

  for (const [i, count] of [
    [1, 0],
    [2, 1],
    [3, 1],
    [4, 3],
    [5, 3],
    [6, 4],
  ] as const) {
    it(`leaves ${count} events before ${i}`, () => {
      assert.deepEqual(changesBefore(batch, at(i)), {
        ...batch,
        events: batch.events.slice(0, count),
      });
    });
  }
});
