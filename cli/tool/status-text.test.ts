import assert from 'node:assert/strict';
import { syncOf } from '../api/testing/reported.ts';
import { statusText, statusValue } from './status-text.ts';

const running = {
  state: 'RUNNING',
  startedAt: '2026-01-01T00:00:00.000Z',
  canCommit: true,
  canWrite: false,
  info: 'change event application',
  lagTimeSeconds: 3,
  collectionCopy: { estimatedTotalBytes: 2000, estimatedCopiedBytes: 500 },
  directionMapping: { Source: 'cluster0: a:1', Destination: 'cluster1: b:2' },
  syncerID: 'shard0',
  coordinatorID: 'shard1',
  totalEventsApplied: 7,
  estimatedSecondsToCatchUp: 0,
  estimatedOplogTimeRemainingSeconds: 7200,
  indexBuilding: null,
  reconciliation: { comparedDocuments: 1000, changedDocuments: 1 },
  warnings: ['slow\u001b'],
};

describe('the status of a sync', () => {
  it('is short in IDLE', () => {
    const sync = syncOf({ state: 'IDLE', canCommit: false });
    assert.equal(statusText(sync), 'state  IDLE: no sync has been started\n');
  });

  it('is what all instances say together: the least far, the largest lag, the sums', () => {
    const others = { syncerID: 'shard1', lagTimeSeconds: 65, canCommit: false, state: 'PAUSED' };
    const sync = syncOf(running, { ...running, ...others });
    assert.equal(
      statusText(sync),
      [
        'state        PAUSED: change event application',
        'source       cluster0: a:1',
        'destination  cluster1: b:2',
        'started      2026-01-01T00:00:00.000Z',
        'can commit   no',
        'can write    not yet',
        'lag          1 min 5 s',
        'copied       1.0 kB of 2.0 kB, 50 %',
        'compared     2,000 documents, 2 changed',
        'changes      14 applied',
        'oplog lasts  2 h',
        'instances',
        '  shard0: RUNNING, 500 B copied, lag 3 s',
        '  shard1 (coordinates): PAUSED, 500 B copied, lag 1 min 5 s',
        'warning: slow\ufffd',
        '',
      ].join('\n'),
    );
    const value = statusValue(sync) as { instances: unknown[] };
    assert.deepEqual(value.instances[0], running);
  });
});
