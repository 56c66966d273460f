import assert from 'node:assert/strict';
import { withOwnLimit } from './own-limit.ts';

describe('withOwnLimit', () => {
  for (const read of [
    { find: 'items', filter: { a: 1 } },
    { aggregate: 'items', pipeline: [], cursor: {} },
    { aggregate: 1, pipeline: [{ $changeStream: {} }], cursor: {} },
    { count: 'items' },
    { distinct: 'items', key: 'a' },
  ])
    it(`keeps the server's default away from ${Object.keys(read).join(' ')}`, () => {
      const sent = withOwnLimit(read);
      assert.deepEqual(sent, { ...read, maxTimeMS: 0 });
      assert.equal(Object.keys(sent)[0], Object.keys(read)[0], 'the name of a command comes first');
    });

  for (const command of [
    { find: 'items', maxTimeMS: 5 },
    { find: 'items', maxTimeMS: 0 },
    // The server takes a limit here only while it waits for more.
    { getMore: 1n, collection: 'items' },
    { insert: 'find', documents: [] },
    { listCollections: 1 },
    {},
  ])
    it(`leaves ${JSON.stringify({ ...command, getMore: undefined })} as it is`, () => {
      assert.equal(withOwnLimit(command), command);
    });
});
