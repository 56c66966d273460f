import assert from 'node:assert/strict';
import {
  combineCollections,
  readCollections,
  readProgress,
  readTopology,
  tellsNoCommit,
  type ReportedCollections,
  type ReportedProgress,
} from './syncer-answers.ts';

describe('readProgress', () => {
  const read = (fields: object): ReportedProgress => {
    const progress = readProgress({ state: 'RUNNING', ...fields });
    assert.ok(progress);
    return progress;
  };

  it('finds none without a state', () => {
    for (const value of [undefined, null, 'RUNNING', [], ['RUNNING'], {}, { state: 1 }])
      assert.equal(readProgress(value), undefined, JSON.stringify(value));
  });

  it('keeps a state of another tool as it is', () => {
    assert.equal(readProgress({ state: 'INITIALIZING' })?.state, 'INITIALIZING');
  });

  it('reads the lag where recent versions of mongosync have it', () => {
    assert.equal(read({ lagTimeSeconds: 3 }).lagTimeSeconds, 3);
    assert.equal(read({ lag: { overallLagSeconds: 7, crudLagSeconds: 1 } }).lagTimeSeconds, 7);
    assert.equal(read({ lagTimeSeconds: 0, lag: { overallLagSeconds: 7 } }).lagTimeSeconds, 0);
    assert.equal(read({ lagTimeSeconds: null, lag: null }).lagTimeSeconds, undefined);
  });

  it('ignores a number that is too large, and an instance with an impossible name', () => {
    const odd = read({
      lagTimeSeconds: 2 ** 53,
      collectionCopy: { estimatedTotalBytes: 1e300, estimatedCopiedBytes: 2 ** 53 - 1 },
      coordinatorID: 'x'.repeat(1_025),
      syncerID: 'x'.repeat(1_024),
    });
    assert.equal(odd.lagTimeSeconds, undefined);
    assert.equal(odd.estimatedTotalBytes, undefined);
    assert.equal(odd.estimatedCopiedBytes, 2 ** 53 - 1);
    assert.equal(odd.coordinatorID, undefined);
    assert.equal(odd.syncerID?.length, 1_024);
  });

  it('ignores values of another type, and negative numbers', () => {
    const odd = read({
      startedAt: 1,
      reversals: -1,
      repairs: '1',
      canCommit: 'true',
      canWrite: 1,
      lagTimeSeconds: -3,
      collectionCopy: { estimatedTotalBytes: '1', estimatedCopiedBytes: NaN },
      directionMapping: 'cluster0',
      indexBuilding: { indexesBuilt: 1 },
      reconciliation: { comparedDocuments: 1 },
      warnings: 'none',
    });
    assert.equal(odd.canCommit, false);
    assert.deepEqual(odd.warnings, []);
    const { startedAt, reversals, canWrite, lagTimeSeconds, direction, indexBuilding } = odd;
    const numbers = [odd.estimatedTotalBytes, odd.estimatedCopiedBytes, odd.repairs];
    const { reconciliation } = odd;
    const texts = [startedAt, reversals, canWrite, lagTimeSeconds, direction];
    const all = [...texts, indexBuilding, reconciliation];
    assert.ok([...all, ...numbers].every((value) => value === undefined));
  });

  it('reads the direction of the sync', () => {
    const from = (Source: string) => read({ directionMapping: { Source } }).direction;
    assert.equal(from('cluster0: a:1'), 'Forward');
    assert.equal(from('cluster1: a:1'), 'Reverse');
    assert.equal(from('another: a:1'), undefined);
  });

  it('finds among the warnings what prevents a commit, up to a limit', () => {
    const warnings = [1, 'other', `commit: not possible now: ${'x'.repeat(9_000)}`];
    assert.equal(read({ warnings }).commitObstacle, 'x'.repeat(500));
    assert.equal(read({ warnings: ['other'] }).commitObstacle, undefined);
  });
});

describe('tellsNoCommit', () => {
  const tells = (fields: object): boolean => {
    const progress = readProgress(fields);
    assert.ok(progress);
    return tellsNoCommit(progress);
  };

  it('believes what a tool says; if it says nothing, the state decides', () => {
    assert.equal(tells({ state: 'RUNNING', commitUnderWay: false }), true);
    assert.equal(tells({ state: 'RUNNING', canCommit: true, commitUnderWay: true }), false);
    assert.equal(tells({ state: 'PAUSED', commitUnderWay: null }), false);
    assert.equal(tells({ state: 'RUNNING', canCommit: true }), true);
    assert.equal(tells({ state: 'PAUSED' }), true);
    for (const state of ['RUNNING', 'INITIALIZING', 'REVERSING'])
      assert.equal(tells({ state }), false, state);
  });
});

describe('readCollections', () => {
  const one = {
    namespace: 'a.b',
    estimatedTotalBytes: 10,
    estimatedCopiedBytes: 4,
    isCopied: true,
  };

  it('reads a page', () => {
    assert.deepEqual(readCollections({ collections: [one], total: 7, copied: 3 }), {
      collections: [{ namespace: 'a.b', totalBytes: 10, copiedBytes: 4, isCopied: true }],
      total: 7,
      copied: 3,
    });
  });

  it('counts the listed collections if a tool gives no count', () => {
    const other = { namespace: 'a.c' };
    const { total, copied } = readCollections({ collections: [one, other] }) ?? {};
    assert.deepEqual({ total, copied }, { total: 2, copied: 1 });
  });

  it('finds none if nothing is listed', () => {
    for (const body of [undefined, {}, { collections: {} }, []])
      assert.equal(readCollections(body), undefined);
  });
});

describe('combineCollections', () => {
  it('adds up the parts of a collection that the instances copy', () => {
    const list = (copiedBytes: number, isCopied: boolean): ReportedCollections => ({
      collections: [{ namespace: 'a.b', totalBytes: 10, copiedBytes, isCopied }],
      total: 1,
      copied: isCopied ? 1 : 0,
    });
    assert.deepEqual(combineCollections([list(3, true), list(4, false)]), {
      collections: [{ namespace: 'a.b', totalBytes: 10, copiedBytes: 7, isCopied: false }],
      total: 1,
      copied: 0,
    });
    assert.equal(combineCollections([list(3, true), list(4, true)]).copied, 1);
    assert.deepEqual(combineCollections([]), { collections: [], total: 0, copied: 0 });
  });
});

describe('readTopology', () => {
  it('reads kind and shards, or nothing', () => {
    const sharded = { kind: 'sharded', shards: ['a', 'b'] };
    assert.deepEqual(readTopology({ topology: sharded }), sharded);
    for (const topology of [
      undefined,
      { kind: 'standalone', shards: ['a'] },
      { kind: 'sharded', shards: 'a' },
      { kind: 'sharded', shards: ['a', 1] },
    ])
      assert.equal(readTopology({ topology }), undefined, JSON.stringify(topology));
  });
});
