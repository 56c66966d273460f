import assert from 'node:assert/strict';
import fc from 'fast-check';
import { BSON, Double, Int32, Timestamp, UUID } from 'mongodb';
import { canonicalKey } from '../../mongo/canonical-id.ts';
import type { DocumentKey } from '../../mongo/document-key.ts';
import { idElement } from '../../mongo/raw-bson.ts';
import type { DocumentChange } from '../source/change-event.ts';
import { withDocument } from '../source/source-documents.ts';
import {
  changesBefore,
  coalesce,
  partsOf,
  readBatch,
  splitByShardKey,
  type WriteBatch,
} from './batch-parts.ts';

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

const keyOf = (id: unknown): DocumentKey => {
  const element = idElement(BSON.serialize({ _id: id }));
  const bytes = element.bytes.subarray(element.offset, element.offset + element.length);
  return {
    id: element,
    placed: undefined,
    exact: `${element.type}:${Buffer.from(bytes).toString('latin1')}`,
    canonical: canonicalKey(element),
  };
};

/** A model of a collection: a document is the list of changes that made it. */
type Model = Map<string, string>;

function applyChange(
  model: Model,
  change: DocumentChange,
  mark: (change: DocumentChange) => string,
): void {
  const { canonical } = change.key;
  switch (change.kind) {
    case 'insert':
    case 'replace':
      model.set(canonical, mark(change));
      return;
    case 'update': {
      const before = model.get(canonical);
      if (before !== undefined) model.set(canonical, `${before},${mark(change)}`);
      return;
    }
    case 'delete':
      model.delete(canonical);
  }
}

describe('coalesce', () => {
  const kinds = ['insert', 'replace', 'update', 'delete'] as const;
  // 1 and 1.0 are the same key for the server.
  const ids = [new Int32(1), new Double(1), new Int32(2), 'a', { x: 1 }];

  it('leads to the same documents, whatever was there before', () => {
    const step = fc.record({ kind: fc.constantFrom(...kinds), id: fc.constantFrom(...ids) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), fc.subarray(ids), (steps, present) => {
        const changes = steps.map(({ kind, id }) => ({ kind, key: keyOf(id) }) as DocumentChange);
        const numbers = new Map(
          changes.map((change, index) => [change, `${change.kind}#${index}`]),
        );
        const mark = (change: DocumentChange): string => numbers.get(change) ?? '';
        const start = (): Model => new Map(present.map((id) => [keyOf(id).canonical, 'before']));
        const expected = start();
        for (const change of changes) applyChange(expected, change, mark);
        const actual = start();
        for (const { writes, deletes } of coalesce(changes)) {
          // The two parts may go in either order.
          for (const change of [...deletes, ...writes]) applyChange(actual, change, mark);
        }
        assert.deepEqual([...actual].sort(), [...expected].sort());
      }),
      { numRuns: 500 },
    );
  });

  it('never has writes and deletes in one batch under a collation', () => {
    // Equal to each other for the server under a collation that ignores case.
    const changes = (
      [
        ['insert', 'a'],
        ['update', 'a'],
        ['delete', 'a'],
        ['insert', 'A'],
        ['delete', 'A'],
        ['delete', 'b'],
        ['insert', 'a'],
        ['insert', 'B'],
      ] as const
    ).map(([kind, id]) => ({ kind, key: keyOf(id) }) as DocumentChange);
    const batches = coalesce(changes, { isCollated: true });
    assert.deepEqual(
      batches.map(({ writes, deletes }) => [writes.length, deletes.length]),
      [
        [2, 0],
        [0, 1],
        [1, 0],
        [0, 2],
        [2, 0],
      ],
    );
  });

  it('sends only the last whole document', () => {
    const key = keyOf('a');
    const changes = (['insert', 'update', 'replace', 'update', 'update'] as const).map(
      (kind) => ({ kind, key }) as DocumentChange,
    );
    const [batch] = coalesce(changes);
    assert.deepEqual(
      batch?.writes.map(({ kind }) => kind),
      ['replace', 'update', 'update'],
    );
    assert.deepEqual(batch.deletes, []);
  });
});

describe('splitByShardKey', () => {
  function change(kind: 'update' | 'delete', key: object): DocumentChange {
    const bytes = BSON.serialize(key);
    const id = idElement(bytes);
    const placed = Object.keys(key).length > 1 ? bytes : undefined;
    const named = { id, placed, exact: JSON.stringify(key), canonical: canonicalKey(id) };
    return kind === 'delete' ? { kind, key: named } : { kind, key: named, diff: id };
  }

  it('takes out what has no shard key in its event, of writes and of deletes', () => {
    const writes = [change('update', { k: 1, _id: 1 }), change('update', { _id: 2 })];
    const deletes = [change('delete', { _id: 3 }), change('delete', { k: 4, _id: 4 })];
    const split = splitByShardKey({ writes, deletes } as WriteBatch, {
      isSharded: true,
      knownKey: null,
    });
    assert.deepEqual(split, {
      writes: [writes[0]],
      deletes: [deletes[1]],
      withoutShardKey: [writes[1], deletes[0]],
    });
  });

  it('takes out what names another shard key than the known one, which was refined', () => {
    const writes = [change('update', { k: 1, _id: 1 }), change('update', { k: 2, l: 1, _id: 2 })];
    const deletes = [change('delete', { k: 3, l: 1, _id: 3 }), change('delete', { _id: 4 })];
    const batch = { writes, deletes } as WriteBatch;
    const byKey = { isSharded: true, knownKey: [{ field: 'k', kind: 1 }] } as const;
    assert.deepEqual(splitByShardKey(batch, byKey), {
      writes: [writes[0]],
      deletes: [],
      withoutShardKey: [writes[1], ...deletes],
    });
    const byId = { isSharded: false, knownKey: [{ field: '_id', kind: 1 }] } as const;
    assert.deepEqual(splitByShardKey(batch, byId), {
      writes: [],
      deletes: [deletes[1]],
      withoutShardKey: [...writes, deletes[0]],
    });
    const asUnsharded = { isSharded: false, knownKey: null };
    assert.deepEqual(splitByShardKey(batch, asUnsharded), { ...batch, withoutShardKey: [] });
  });
});
