import assert from 'node:assert/strict';
import fc from 'fast-check';
import { BSON, Double, Int32 } from 'mongodb';
import { canonicalKey } from '../../mongo/canonical-id.ts';
import type { DocumentKey } from '../../mongo/document-key.ts';
import { idElement } from '../../mongo/raw-bson.ts';
import { coalesce, splitByShardKey } from './coalesce.ts';
import type { DocumentChange } from '../source/change-event.ts';

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
          // In either order of the two parts.
          for (const change of [...deletes, ...writes]) applyChange(actual, change, mark);
        }
        assert.deepEqual([...actual].sort(), [...expected].sort());
      }),
      { numRuns: 500 },
    );
  });

  it('never has writes and deletes in one batch under a collation', () => {
    // Equal to each other, as the server sees them under a collation that ignores case.
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
    const split = splitByShardKey({ writes, deletes } as Parameters<typeof splitByShardKey>[0]);
    assert.deepEqual(split, {
      writes: [writes[0]],
      deletes: [deletes[1]],
      withoutShardKey: [writes[1], deletes[0]],
    });
  });
});
