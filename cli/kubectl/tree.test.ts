import assert from 'node:assert/strict';
import { readSync, readVerification } from './resources.ts';
import { lastRows, syncTree, tableLines, treeLines } from './tree.ts';

describe('the tree of a ClusterSync', () => {
  it('shows instances, coordinator, conditions and verifications', () => {
    const sync = readSync({
      metadata: { namespace: 'migration', name: 'shop' },
      spec: { state: 'Committed', source: { name: 'old' }, destination: { name: 'new' } },
      status: {
        phase: 'ChangeApplication',
        totals: { percent: 100 },
        lagTimeSeconds: 65,
        coordinatorID: 's1',
        instances: [
          { id: 's0', ready: false, error: 'no\u001b answer' },
          {
            id: 's1',
            ready: true,
            pod: 'shop-1',
            progress: { state: 'RUNNING', info: 'change event application', lagTimeSeconds: 65 },
          },
        ],
        conditions: [
          { type: 'Ready', status: 'False', reason: 'Running', message: 'it runs' },
          { type: 'ReadyToCommit', status: 'True', reason: 'Verified', message: 'equal' },
        ],
      },
    });
    const verification = readVerification({
      metadata: { name: 'proof' },
      spec: { clusterSyncRef: { name: 'shop' } },
      status: { phase: 'Failed', verdict: 'Different', mismatches: { total: 1 } },
    });
    assert.deepEqual(treeLines(syncTree(sync, [verification])), [
      'ClusterSync shop: ChangeApplication, desired Committed, 100 % copied, lag 1 min 5 s, ready to commit  (old -> new)',
      '├─ 2 instances',
      '│  ├─ s0: not ready',
      '│  │  └─ error: no\ufffd answer',
      '│  └─ s1 (coordinates): RUNNING, change event application, lag 1 min 5 s, pod shop-1',
      '├─ conditions',
      '│  ├─ Ready False (Running): it runs',
      '│  └─ ReadyToCommit True (Verified): equal',
      '└─ SyncVerification proof: Failed, Different, 1 difference',
    ]);
  });

  it('shows what the check before the start has found, each with what to do', () => {
    const finding = { severity: 'Warning', name: 'OplogTooShort', message: 'one\u001b hour' };
    const preflight = [
      { severity: 'Blocker', name: 'A', side: 'Source', message: 'm', action: 'Do it.' },
      finding,
    ];
    const status = { phase: 'DryRun', preflight, preflightCheck: { omittedFindings: 3 } };
    const sync = readSync({ metadata: { name: 'shop' }, spec: {}, status });
    assert.deepEqual(treeLines(syncTree(sync, [])), [
      'ClusterSync shop: DryRun  ( -> )',
      '└─ found before the start',
      '   ├─ Blocker A (source): m',
      '   │  └─ Do it.',
      '   ├─ Warning OplogTooShort: one\ufffd hour',
      '   └─ and 3 more',
    ]);
  });

  it('knows the lag of an instance that tells it as recent versions of mongosync do', () => {
    const progress = { state: 'RUNNING', lag: { overallLagSeconds: 7 } };
    const status = { instances: [{ id: 'old', ready: true, progress }] };
    const sync = readSync({ metadata: { name: 'shop' }, spec: {}, status });
    assert.equal(sync.instances[0]?.lagSeconds, 7);
  });

  it('is one line where nothing is known yet', () => {
    const sync = readSync({ metadata: { name: 'shop' }, spec: {} });
    assert.deepEqual(treeLines(syncTree(sync, [])), ['ClusterSync shop: Pending  ( -> )']);
  });
});

describe('tableLines', () => {
  it('puts columns under each other', () => {
    assert.deepEqual(
      tableLines(
        ['NAME', 'PHASE'],
        [
          ['注文', 'Running'],
          ['a', 'Paused'],
        ],
      ),
      ['NAME   PHASE', '注文   Running', 'a      Paused'],
    );
  });

  it('has more rows than a call takes arguments', () => {
    const rows = Array.from({ length: 200_000 }, (_, index) => [String(index), 'Running']);
    const lines = tableLines(['NAME', 'PHASE'], rows);
    assert.equal(lines.length, rows.length + 1);
    assert.equal(lines.at(-1), '199999   Running');
  });
});

describe('lastRows', () => {
  it('leaves out the earlier rows, and says how many', () => {
    const table = 'LAST SEEN   REASON\n3m   Started\n2m   Paused\n1m   Resumed\n';
    assert.equal(lastRows(table, 3), table);
    assert.equal(
      lastRows(table, 2),
      'LAST SEEN   REASON\n(1 earlier rows omitted)\n2m   Paused\n1m   Resumed\n',
    );
  });
});
