import assert from 'node:assert/strict';
import { BSON, ObjectId, Timestamp, UUID, type Document } from 'mongodb';
import { valueBytes } from '../../mongo/raw-bson.ts';
import { parseChangeEvent, type DocumentChange } from '../source/change-event.ts';
import { compactChanges } from './compact-changes.ts';

const event = {
  _id: { _data: '8263' },
  clusterTime: new Timestamp({ t: 1, i: 1 }),
  collectionUUID: new UUID(),
  ns: { db: 'shop', coll: 'items' },
};

/** The change of an event, as bytes in the midst of an answer. */
function changeOf(fields: Document): DocumentChange {
  const raw = BSON.serialize({ ...event, ...fields });
  const answer = Buffer.concat([Buffer.alloc(100, 'a'), raw, Buffer.alloc(1_000, 'z')]);
  const parsed = parseChangeEvent(answer.subarray(100, 100 + raw.length));
  assert.equal(parsed.type, 'document');
  return parsed.change;
}

const placedKey = { shop: 'a', _id: new ObjectId() };
const changes = [
  changeOf({
    operationType: 'insert',
    documentKey: { _id: 1 },
    fullDocument: { _id: 1, text: 'new' },
  }),
  changeOf({
    operationType: 'replace',
    documentKey: placedKey,
    fullDocument: { ...placedKey, text: 'other' },
  }),
  changeOf({
    operationType: 'update',
    documentKey: { _id: 'text' },
    rawUpdateDescription: { $v: 2, diff: { u: { text: 'changed' } } },
  }),
  changeOf({ operationType: 'delete', documentKey: { _id: { a: 1, b: [2] } } }),
];

/** Every value of a change, as text. */
function valuesOf(change: DocumentChange): unknown {
  const { id, placed, ...texts } = change.key;
  const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
  return {
    ...{ kind: change.kind, ...texts, name: id.name, type: id.type, id: hex(valueBytes(id)) },
    placed: placed && hex(placed),
    document: 'document' in change ? hex(change.document) : undefined,
    diff: 'diff' in change ? [change.diff.type, hex(valueBytes(change.diff))] : undefined,
  };
}

describe('compactChanges', () => {
  it('leaves every value of a change as it is', () => {
    const compact = compactChanges(changes);
    assert.deepEqual(compact.changes.map(valuesOf), changes.map(valuesOf));
    assert.equal(new Set(compact.changes.map(({ kind }) => kind)).size, 4);
  });

  it('shares no memory with the events, and counts what it holds', () => {
    const compact = compactChanges(changes);
    const buffers = compact.changes.flatMap((change) => [
      change.key.id.bytes.buffer,
      ...(change.key.placed ? [change.key.placed.buffer] : []),
      ...('document' in change ? [change.document.buffer] : []),
      ...('diff' in change ? [change.diff.bytes.buffer] : []),
    ]);
    const [memory, ...others] = new Set(buffers);
    assert.deepEqual(others, []);
    assert.ok(memory);
    const texts = changes.flatMap(({ key }) => [...new Set([key.exact, key.canonical])]);
    assert.equal(compact.bytes, memory.byteLength + texts.join('').length + 4 * 430);
    const events = changes.map(({ key }) => key.id.bytes.buffer);
    assert.ok(!events.includes(memory));
    // Nothing of an answer stays but the values.
    assert.ok(memory.byteLength < 250, String(memory.byteLength));
  });

  it('holds nothing for no changes', () => {
    assert.deepEqual(compactChanges([]), { changes: [], bytes: 0 });
  });
});
