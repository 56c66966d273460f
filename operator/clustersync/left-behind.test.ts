import assert from 'node:assert/strict';
import type { ClusterSyncStatus } from '../api/clustersync.ts';
import { leftBehind } from './reset.ts';
import { clusterSync } from './testing/worlds.ts';

const begun: ClusterSyncStatus = {
  source: { kind: 'ReplicaSet', shards: ['rs'] },
  startedAt: '2026-01-01T00:00:00Z',
};

describe('what a deletion leaves', () => {
  const totals = { estimatedTotalBytes: 900, estimatedCopiedBytes: 300, percent: 33 };

  it('is named: a part of a copy, blocked writes, the state, and how to get rid of it', () => {
    const spec = { enableUserWriteBlocking: true };
    const note = leftBehind(clusterSync(spec, { ...begun, totals })) ?? '';
    assert.match(note, /a partial copy of about 300 bytes on new/);
    assert.match(note, /writes by ordinary users blocked on new,/);
    assert.match(note, /the same spec resumes from there/);
    assert.match(note, /recreate the ClusterSync with spec\.onDelete: Clean/);
    assert.ok(note.length < 1024);
    const committingNote = leftBehind(clusterSync(spec, { ...begun, totals, phase: 'Committing' }));
    assert.match(committingNote ?? '', /blocked on old and new,/);
    assert.doesNotMatch(leftBehind(clusterSync({}, begun)) ?? '', /blocked/);
    const inUse = leftBehind(clusterSync(spec, { ...begun, totals, canWrite: true })) ?? '';
    assert.match(inUse, /resumes from there$/);
  });

  it('is nothing of a sync that was not begun, or is committed', () => {
    assert.equal(leftBehind(clusterSync({}, {})), undefined);
    const condition = {
      ...({ type: 'Committed', status: 'True', reason: 'Committed', message: '' } as const),
      lastTransitionTime: '2026-01-01T00:00:00Z',
    } as const;
    assert.equal(leftBehind(clusterSync({}, { ...begun, conditions: [condition] })), undefined);
  });
});
