import assert from 'node:assert/strict';
import { BSON } from 'mongodb';
import { idKey, type IdKey } from '../compare/id-key.ts';
import type { DocumentDifference } from '../compare/mismatch.ts';
import { compareLists } from './run-task.ts';

// One more than are looked up together.
const ids = Array.from({ length: 1001 }, (_, _id) => idKey(BSON.serialize({ _id })));
const none = { found: [], isOverflowing: false };

describe('compareLists', () => {
  it('finds what differs in any list', async () => {
    for (const id of [ids[0], ids[1000]]) {
      assert.ok(id !== undefined);
      const difference: DocumentDifference = { kind: 'missingDocument', id };
      const differences = await compareLists(ids, async (list) => {
        const found = list.includes(id) ? [difference] : [];
        return await Promise.resolve({ found, isOverflowing: false });
      });
      assert.deepEqual(differences, { found: [difference], isOverflowing: false });
    }
  });

  it('says that there is more if any list had more than it could tell', async () => {
    for (const number of [0, 1]) {
      let count = 0;
      const differences = await compareLists(ids, async () => {
        return await Promise.resolve({ found: [], isOverflowing: count++ === number });
      });
      assert.deepEqual(differences, { found: [], isOverflowing: true });
    }
  });

  it('compares each id once, and finds nothing where nothing differs', async () => {
    const compared: IdKey[] = [];
    const differences = await compareLists(ids, async (list) => {
      compared.push(...list);
      return await Promise.resolve(none);
    });
    assert.deepEqual(differences, none);
    assert.deepEqual(compared, ids);
  });
});
