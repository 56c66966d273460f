import assert from 'node:assert/strict';
import { BSON } from 'mongodb';
import { idKey } from './id-key.ts';
import { mismatchOf, type DocumentDifference, type MetadataDifference } from './mismatch.ts';

const namespace = { db: 'shop', coll: 'items' };
const key = (_id: unknown): DocumentDifference['id'] => idKey(BSON.serialize({ _id }));

describe('mismatchOf', () => {
  it('shows what is known of a document, and nothing else', () => {
    const least: DocumentDifference = { kind: 'missingDocument', id: key('a') };
    const shown = { namespace: 'shop.items', kind: 'missingDocument', id: '"a"' };
    assert.deepEqual(mismatchOf(namespace, least).view, shown);
    const others = [
      { field: 'f' },
      { detail: 'd' },
      { sourceType: 'int' },
      { destinationType: 'long' },
      { sourceValue: '1' },
      { destinationValue: '2' },
    ];
    for (const other of others)
      assert.deepEqual(mismatchOf(namespace, { ...least, ...other }).view, { ...shown, ...other });
  });

  it('shows what is known of a namespace, and nothing else', () => {
    const least: MetadataDifference = { kind: 'options' };
    const shown = { namespace: 'shop.items', kind: 'options' };
    assert.deepEqual(mismatchOf(namespace, least).view, shown);
    for (const other of [{ index: 'i' }, { field: 'f' }, { detail: 'd' }])
      assert.deepEqual(mismatchOf(namespace, { ...least, ...other }).view, { ...shown, ...other });
  });

  it('has a subject of its own for each difference: of two with the same, one is kept', () => {
    const differences: readonly (DocumentDifference | MetadataDifference)[] = [
      { kind: 'missingDocument', id: key(1) },
      { kind: 'missingDocument', id: key(2) },
      { kind: 'extraDocument', id: key(1) },
      { kind: 'missingIndex', index: 'a' },
      { kind: 'missingIndex', index: 'b' },
      { kind: 'extraIndex', index: 'a' },
      { kind: 'differentIndex', index: 'a', field: 'unique' },
      { kind: 'differentIndex', index: 'a', field: 'sparse' },
      { kind: 'zone', field: 'x' },
      { kind: 'zone', field: 'y' },
    ];
    const subjects = differences.map((each) => mismatchOf(namespace, each).subject);
    assert.equal(new Set(subjects).size, differences.length);
    const again = mismatchOf(namespace, {
      kind: 'missingIndex',
      index: 'a',
      detail: 'only on s1',
    });
    assert.equal(again.subject, subjects[3]);
  });
});
