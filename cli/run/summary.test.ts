import assert from 'node:assert/strict';
import { summaryText, type Summary } from './summary.ts';

const summary: Summary = {
  state: 'COMMITTED',
  verdict: 'equal',
  reversible: false,
  source: 'cluster0: a:27017',
  destination: 'cluster1: b:27017',
  startedAt: '2026-11-22T10:00:00.000Z',
  endedAt: '2026-11-22T10:05:00.000Z',
  copiedBytes: 1000,
  eventsApplied: 10,
  documentsCompared: 3,
  documentsCounted: { source: 3, destination: 3 },
  documentsHashed: 0,
  mismatchCount: 0,
  mismatches: [],
  warnings: [],
};

describe('the summary of a migration', () => {
  it('lets the states be dropped where there is no way back', () => {
    assert.match(summaryText(summary, 'text'), /then drop clustersync_internal/);
  });

  it('keeps the way back open, and says how it is taken', () => {
    const text = summaryText({ ...summary, reversible: true }, 'text');
    assert.doesNotMatch(text, /drop/);
    assert.match(text, /^ {2}clustersync syncer --cluster0File .* --cluster1File .* &\n/m);
    assert.match(text, /^ {2}clustersync reverse --wait$/m);
  });

  it('tells how many documents each side has', () => {
    const documentsCounted = { source: 1200, destination: 1201 };
    const text = summaryText({ ...summary, documentsCounted }, 'text');
    assert.match(text, /counted .*1,200 on the source, 1,201 on the destination/);
    assert.doesNotMatch(summaryText({ ...summary, documentsCounted: null }, 'text'), /counted/);
  });

  it('tells how many documents were compared only by hash, if any', () => {
    assert.match(
      summaryText({ ...summary, documentsHashed: 1200 }, 'text'),
      /only by hash .*1,200 doc/,
    );
    assert.doesNotMatch(summaryText(summary, 'text'), /by hash/);
  });

  it('says first of all that both sides are different', () => {
    const text = summaryText({ ...summary, reversible: true, verdict: 'different' }, 'text');
    assert.match(text, /DIFFERENT/);
    assert.match(text, /Do not use the destination until you know why/);
  });
});
