import assert from 'node:assert/strict';
import { commandWrite } from './record-store.ts';

describe('commandWrite', () => {
  const record = { instances: ['a', 'b', 'c'], commandCount: 4 };

  it('counts a command once, whichever instance is given it first, and however many are', () => {
    const first = commandWrite(record, 'b', { state: 'COMMITTING' });
    assert.deepEqual(first, {
      received: { commandCount: 5, 'received.1': 5 },
      expected: { commandCount: 4 },
      change: { state: 'COMMITTING', commandCount: 5, 'received.1': 5 },
    });
    const next = commandWrite({ ...record, commandCount: 5 }, 'c', undefined);
    assert.deepEqual(next, {
      received: { commandCount: 5, 'received.2': 5 },
      expected: { commandCount: 5 },
      change: { commandCount: 5, 'received.2': 5 },
    });
  });
});
