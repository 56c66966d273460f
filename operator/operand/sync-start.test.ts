import assert from 'node:assert/strict';
import { syncStartOf } from './sync-start.ts';

describe('a sync', () => {
  it('has no start that a status has no room for', () => {
    const start = '2026-01-01T00:00:00Z';
    const long = { startedAt: 'x'.repeat(65) };
    assert.equal(syncStartOf([undefined, {}, long, { startedAt: start }], 'seen'), start);
    assert.equal(syncStartOf([long], 'seen'), undefined);
    assert.equal(syncStartOf([{ startedAt: 'x'.repeat(60), reversals: 1 }], 'seen'), undefined);
    assert.equal(syncStartOf([undefined, {}], 'seen'), 'seen');
  });
});
