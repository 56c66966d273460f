import assert from 'node:assert/strict';
import { reversibleSync } from '../testing/reversible-sync.ts';
import { blockedClusters } from './write-blocking.ts';

describe('blockedClusters', () => {
  const sync = { ...reversibleSync(), phase: 'changes', canWrite: false } as const;
  const cases = [
    ['while changes are applied', {}, ['cluster1']],
    ['in a commit', { state: 'COMMITTING' }, ['cluster0', 'cluster1']],
    ['in a commit, once users may write', { state: 'COMMITTING', canWrite: true }, ['cluster0']],
    ['after it', { state: 'COMMITTED', phase: 'done', canWrite: true }, ['cluster0']],
    ['while it is handed over', { phase: 'handover', canWrite: true }, ['cluster0']],
  ] as const;
  for (const [when, change, expected] of cases) {
    it(`${when}: ${expected.join()}`, () => {
      const record = { ...sync, ...change };
      assert.deepEqual(blockedClusters(record), expected);
      const options = { ...sync.options, enableUserWriteBlocking: false };
      assert.deepEqual(blockedClusters({ ...record, options }), []);
    });
  }
});
