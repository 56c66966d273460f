import assert from 'node:assert/strict';
import { detailFigures, percentOfCopy, summaryFigures } from './sync-figures.ts';
import { readProgress, type ReportedProgress } from './syncer-answers.ts';

function instances(...told: readonly (object | undefined)[]): (ReportedProgress | undefined)[] {
  return told.map((progress) => progress && readProgress({ state: 'RUNNING', ...progress }));
}

const copied = (estimatedCopiedBytes: number): object => ({
  collectionCopy: { estimatedTotalBytes: 100, estimatedCopiedBytes },
});

describe('the figures of a sync', () => {
  it('are unknown without instances', () => {
    const unknown = {
      ...{ totalBytes: null, copiedBytes: null, lagSeconds: null, eventsApplied: null },
      oplogSeconds: null,
    };
    assert.deepEqual(summaryFigures([]), unknown);
    assert.deepEqual(summaryFigures(instances(undefined, {})), unknown);
    const nothing = {
      ...{ catchUpSeconds: null, indexes: null },
      ...{ reconciliation: null, heldBack: null, warnings: [] },
    };
    assert.deepEqual(detailFigures([]), nothing);
    assert.deepEqual(detailFigures(instances({}, undefined)), nothing);
  });

  it('have the bytes of all together, of which each instance reports the total', () => {
    const { totalBytes, copiedBytes } = summaryFigures(instances(copied(30), undefined, copied(7)));
    assert.deepEqual([totalBytes, copiedBytes], [100, 37]);
  });

  it('have a lag, a time to catch up and a number of events only where each instance says its own', () => {
    const one = { lagTimeSeconds: 3, totalEventsApplied: 10, estimatedSecondsToCatchUp: 4 };
    const other = { lagTimeSeconds: 8, totalEventsApplied: 1, estimatedSecondsToCatchUp: 2 };
    const figures = (...told: readonly (object | undefined)[]): readonly unknown[] => {
      const { lagSeconds, eventsApplied } = summaryFigures(instances(...told));
      return [lagSeconds, eventsApplied, detailFigures(instances(...told)).catchUpSeconds];
    };
    assert.deepEqual(figures(one, other), [8, 11, 4]);
    for (const silent of [undefined, {}])
      assert.deepEqual(figures(one, silent, other), [null, null, null]);
  });

  it('have the shortest oplog, all indexes, and each warning once', () => {
    const built = (indexesBuilt: number) => ({
      indexBuilding: { indexesBuilt, totalIndexesToBuild: 5 },
    });
    const told = instances(
      { estimatedOplogTimeRemainingSeconds: 90, warnings: ['one', 'two'], ...built(1) },
      undefined,
      { estimatedOplogTimeRemainingSeconds: 60, warnings: ['two'], ...built(3) },
    );
    const [one, , other] = told;
    assert.equal(summaryFigures([one, other]).oplogSeconds, 60);
    assert.equal(summaryFigures(told).oplogSeconds, null, 'what one lacks may be the shortest');
    const { indexes, warnings } = detailFigures(told);
    assert.deepEqual(indexes, { built: 4, total: 10 });
    assert.deepEqual(warnings, ['one', 'two']);
  });

  it('have what all instances have compared, and how much of it they have changed', () => {
    const compared = (comparedDocuments: number, changedDocuments: number) => ({
      reconciliation: { comparedDocuments, changedDocuments },
    });
    const told = instances(compared(100, 3), undefined, compared(20, 1), { reconciliation: null });
    const { reconciliation } = detailFigures(told);
    assert.deepEqual(reconciliation, { comparedDocuments: 120, changedDocuments: 4 });
  });

  it('have 100 % only at the end of the copy', () => {
    const shares = [percentOfCopy(0, 0), percentOfCopy(7, 0), percentOfCopy(299, 1_000)];
    assert.deepEqual(shares, [0, 0, 29]);
    assert.deepEqual([percentOfCopy(1_000, 1_000), percentOfCopy(1_500, 1_000)], [99, 99]);
  });

  it('tell of limits what costs most, and nothing where there is none', () => {
    const limited = (requested: object, copy: number, changes: number) => ({
      limits: {
        ...{ requested, heldBackBy: copy > changes ? ['maxCopyBytesPerSecond'] : ['b'] },
        ...{ secondsHeldBack: { copy, changes }, shareOfLastMinute: { copy: 0.2, changes: 0.1 } },
      },
    });
    const one = limited({ maxChangesPerSecond: 7 }, 5, 1);
    assert.deepEqual(detailFigures(instances(one, undefined, limited({}, 0, 9))).heldBack, {
      heldBackBy: ['maxCopyBytesPerSecond', 'b'],
      ...{ secondsHeldBack: 9, shareOfLastMinute: 0.2 },
    });
    assert.equal(detailFigures(instances(limited({}, 0, 0), {})).heldBack, null);
  });
});
