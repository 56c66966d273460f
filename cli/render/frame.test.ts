import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { CombinedCollections, ReportedCollection } from '../../sync-api/syncer-answers.ts';
import type { SyncProgress } from '../api/combine.ts';
import { syncOf, verificationFrom } from '../api/testing/reported.ts';
import { frameOf, plainLine, foldCollections, type View } from './frame.ts';
import { renderLine, type Style } from './style.ts';
import { widthOf } from './width.ts';

const style: Style = { hasColours: false, hasBlocks: false };

const copying = syncOf({
  state: 'RUNNING',
  info: 'collection copy',
  lagTimeSeconds: 2,
  collectionCopy: { estimatedTotalBytes: 1000e6, estimatedCopiedBytes: 250e6 },
  totalEventsApplied: 0,
  warnings: [],
});

const following = syncOf({
  state: 'RUNNING',
  info: 'change event application',
  canCommit: true,
  lagTimeSeconds: 65,
  collectionCopy: { estimatedTotalBytes: 1000e6, estimatedCopiedBytes: 1001e6 },
  totalEventsApplied: 12_345,
  estimatedSecondsToCatchUp: 30,
  estimatedOplogTimeRemainingSeconds: 7200,
  indexBuilding: { indexesBuilt: 1, totalIndexesToBuild: 3 },
  warnings: ['the oplog \u001b[2J is short'],
});

const collections: CombinedCollections = {
  collections: [
    { namespace: 'shop.orders', totalBytes: 600e6, copiedBytes: 150e6, isCopied: false },
    { namespace: 'shop.items', totalBytes: 300e6, copiedBytes: 0, isCopied: false },
    { namespace: 'shop.tags', totalBytes: 100e6, copiedBytes: 100e6, isCopied: true },
  ],
  ...{ total: 40, copied: 12, isExact: true, unknownInstances: 0 },
};

const nothingMore = {
  collections: undefined,
  verification: undefined,
  commitReadiness: undefined,
  copyBytesPerSecond: null,
  eventsPerSecond: null,
  warning: undefined,
};

function drawn(view: View, columns: number, rows: number): string[] {
  return frameOf(view, { columns, rows }, style).map((line) =>
    renderLine(line, columns, style).trimEnd(),
  );
}

describe('the picture of a sync', () => {
  it('shows what the verifier waits for', () => {
    const warnings = ['metadata store: waiting for 12 s'];
    const verification = verificationFrom({ phase: 'check', verdict: null, warnings });
    const lines = drawn({ ...nothingMore, sync: following, verification }, 80, 20);
    assert.ok(
      lines.includes('warning    verifier: metadata store: waiting for 12 s'),
      lines.join('\n'),
    );
    const asOf = '2026-01-01T00:00:00Z';
    const stale = verificationFrom({ phase: 'check', verdict: null, warnings, asOf });
    const others = drawn({ ...nothingMore, sync: following, verification: stale }, 80, 20);
    assert.ok(!others.some((line) => line.includes('metadata store')), others.join('\n'));
  });

  const view: View = { ...nothingMore, sync: copying, collections, copyBytesPerSecond: 50e6 };

  it('shows collections with bars, and the others in numbers', () => {
    assert.deepEqual(drawn(view, 80, 10), [
      'copy       ####------------  25 %  250 MB of 1.0 GB  50.0 MB/s  15 s left',
      '  shop.orders  ####------------   25 %  150 MB of 600 MB',
      '  shop.items   ----------------    0 %  0 B of 300 MB',
      '  others: 26 waiting, 12 copied',
    ]);
  });

  it('says of collections that are not all listed what is known of them', () => {
    const unsure: View = { ...view, collections: { ...collections, isExact: false } };
    assert.equal(drawn(unsure, 80, 10).at(-1), '  others: at least 12 copied');
    assert.match(plainLine(unsure, style), /; at least 12 of at least 40 collections/);
  });

  it('shows during the copy how long the oplog lasts, where that may matter', () => {
    const lines = (oplogSeconds: number) => {
      const sync: SyncProgress = { ...copying, oplogSeconds };
      return [
        drawn({ ...view, sync }, 80, 10).filter((line) => line.startsWith('oplog')),
        /oplog: [^;]*/.exec(plainLine({ ...view, sync }, style))?.[0],
      ];
    };
    assert.deepEqual(lines(7200), [['oplog      lasts 2 h  lag 2 s'], 'oplog: lasts 2 h  lag 2 s']);
    assert.deepEqual(lines(8 * 86_400), [[], undefined]);
  });

  it('folds them into the total where there is little room', () => {
    assert.deepEqual(drawn(view, 60, 2), [
      'copy       #-  25 %  250 MB of 1.0 GB  50.0 MB/s  15 s left',
      '  1 under way, 27 waiting, 12 copied',
    ]);
  });

  it('shows what comes after the copy', () => {
    const verification = verificationFrom({
      phase: 'check',
      mismatchCount: 2,
      documentsCompared: 1,
      generationStats: { documentsCompared: 1, documentsTotal: 2 },
    });
    const after = { ...nothingMore, sync: following, verification, eventsPerSecond: 3.14 };
    assert.deepEqual(drawn({ ...after, warning: 'no answer' }, 80, 20), [
      'copy       done: 1.0 GB',
      'changes    lag 1 min 5 s  12,345 applied  3.1/s  caught up in 30 s  oplog lasts…',
      'indexes    1 of 3 built',
      'verify     ########--------  pass 1  1 document compared  2 differences to rech…',
      'warning    no answer',
      'warning    the oplog \ufffd[2J is short',
    ]);
    const equal = verificationFrom({
      ...{ phase: 'idle', verdict: 'equal', documentsCompared: 5, proof: { documentsHashed: 4 } },
    });
    assert.match(
      plainLine({ ...after, verification: equal }, style),
      /equal {2}5 documents compared, 4 only by hash$/,
    );
    const asOf = '2026-01-01T11:00:00.000Z';
    const stale = { ...after, verification: { ...verification, asOf } };
    assert.match(
      plainLine(stale, style),
      /recheck {2}not current: as of 2026-01-01T11:00:00\.000Z$/,
    );
    assert.equal(
      plainLine(after, style),
      'changes: lag 1 min 5 s  12,345 applied  3.1/s  caught up in 30 s  oplog lasts 2 h; indexes 1 of 3; verification: pass 1  1 document compared  2 differences to recheck',
    );
  });

  it('says whether a commit is advisable, while changes are applied', () => {
    const commitLine = (sync: SyncProgress, isReady: boolean): string | undefined => {
      const commitReadiness = { isReady, message: 'the lag is unknown' };
      return drawn({ ...nothingMore, sync, commitReadiness }, 80, 20).find((line) =>
        line.startsWith('commit'),
      );
    };
    const applying = { ...following, state: 'RUNNING' };
    assert.equal(commitLine(applying, true), 'commit     ready');
    assert.equal(commitLine(applying, false), 'commit     not yet: the lag is unknown');
    assert.equal(commitLine({ ...applying, state: 'COMMITTING' }, true), undefined);
    assert.equal(commitLine(copying, false), undefined);
  });

  it('shows what was compared with the documents that the destination had', () => {
    const reconciliation = { comparedDocuments: 12_000, changedDocuments: 7 };
    const compared = 'compared 12,000 documents, 7 changed';
    const during = { ...nothingMore, sync: { ...copying, reconciliation } };
    assert.equal(plainLine(during, style), `copy: 25 %  250 MB of 1.0 GB  ${compared}`);
    const after = { ...nothingMore, sync: { ...following, reconciliation } };
    assert.equal(drawn(after, 80, 1)[0], `copy       done: 1.0 GB  ${compared}`);
  });

  it('is one line without a terminal', () => {
    assert.equal(
      plainLine(view, style),
      'copy: 25 %  250 MB of 1.0 GB  50.0 MB/s  15 s left; 12 of 40 collections',
    );
  });

  it('fits into any room', () => {
    const both = { ...view, verification: verificationFrom({ phase: 'check' }) };
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 200 }),
        fc.integer({ min: 1, max: 60 }),
        fc.constantFrom(both, { ...both, sync: following }),
        (columns, rows, any) => {
          const lines = drawn(any, columns, rows);
          assert.ok(lines.length <= rows);
          assert.ok(lines.every((line) => widthOf(line) <= columns));
        },
      ),
    );
  });
});

describe('foldCollections', () => {
  const one = (namespace: string, totalBytes: number, copiedBytes = 0): ReportedCollection => ({
    namespace,
    totalBytes,
    copiedBytes,
    isCopied: copiedBytes > totalBytes,
  });
  const list = {
    collections: [one('a', 10, 5), one('b', 99), one('c', 50, 1), one('d', 1), one('e', 5, 6)],
    ...{ total: 20, copied: 8, isExact: true },
  };
  const cases: readonly (readonly [number, string, object])[] = [
    [10, 'c a b d', { underWay: 0, waiting: 8, copied: 8 }],
    [3, 'c a b', { underWay: 0, waiting: 9, copied: 8 }],
    [1, 'c', { underWay: 1, waiting: 10, copied: 8 }],
    [0, '', { underWay: 2, waiting: 10, copied: 8 }],
    [-3, '', { underWay: 2, waiting: 10, copied: 8 }],
  ];
  for (const [lines, names, others] of cases) {
    it(`shows "${names}" in ${lines} lines`, () => {
      const folded = foldCollections(list, lines);
      assert.equal(folded.shown.map(({ namespace }) => namespace).join(' '), names);
      assert.deepEqual(folded.others, others);
    });
  }

  it('counts only what is listed as waiting where that is all that is known', () => {
    const { others } = foldCollections({ ...list, isExact: false }, 1);
    assert.deepEqual(others, { underWay: 1, waiting: 2, copied: 8 });
  });

  it('has nothing to show of nothing', () => {
    assert.deepEqual(foldCollections({ collections: [], total: 0, copied: 0, isExact: true }, 5), {
      shown: [],
      others: { underWay: 0, waiting: 0, copied: 0 },
    });
  });
});
