import assert from 'node:assert/strict';
import { BSON } from 'mongodb';
import { canonicalKey } from '../../mongo/canonical-id.ts';
import { idElement } from '../../mongo/raw-bson.ts';
import type { DocumentChange } from '../source/change-event.ts';
import { withoutUnplaced } from './unplaced.ts';

describe('withoutUnplaced', () => {
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
    const split = withoutUnplaced({ writes, deletes } as Parameters<typeof withoutUnplaced>[0]);
    assert.deepEqual(split, {
      writes: [writes[0]],
      deletes: [deletes[1]],
      unplaced: [writes[1], deletes[0]],
    });
  });
});
