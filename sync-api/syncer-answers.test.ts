import assert from 'node:assert/strict';
import {
  allCopied,
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
  /** What an instance lists: each collection with a `+` if its part is copied; and all counts. */
  const list = (names: string, total?: number, copied?: number): ReportedCollections => {
    const collections = names.split(' ').flatMap((name) => {
      const isCopied = name.endsWith('+');
      const namespace = name.replace('+', '');
      return name === '' ? [] : [{ namespace, totalBytes: 10, copiedBytes: 4, isCopied }];
    });
    const done = collections.filter(({ isCopied }) => isCopied).length;
    return { collections, total: total ?? collections.length, copied: copied ?? done };
  };
  const combined = (lists: readonly ReportedCollections[], instances = lists.length): string => {
    const { collections, copied, total, isExact, unknownInstances } = combineCollections(
      lists,
      instances,
    );
    const names = collections.map((one) => `${one.namespace}${one.isCopied ? '+' : ''}`).join(' ');
    const unknown = unknownInstances === 0 ? '' : `, ${unknownInstances} unknown`;
    return `${names}: ${isExact ? '' : 'at least '}${copied} of ${total}${unknown}`;
  };
  const cases: readonly (readonly [
    what: string,
    lists: readonly ReportedCollections[],
    expected: string,
  ])[] = [
    ['takes the counts of a single one', [list('a b+', 200, 120)], 'a b+: 120 of 200'],
    ['wants each part copied', [list('a+ b'), list('a+ b+')], 'a+ b: 1 of 2'],
    ['adds up those of different ones', [list('a+ b'), list('c+ d')], 'a+ b c+ d: 2 of 4'],
    [
      'knows only the fewest if not all are listed',
      [list('a b', 200, 50), list('c d', 300, 80)],
      'a b c d: at least 0 of 300',
    ],
    [
      'knows that most are copied if few are not',
      [list('a b', 200, 198), list('c', 300, 299)],
      'a b c: at least 297 of 300',
    ],
    [
      'knows that all are copied',
      [list('a+ b+', 200, 200), list('c+', 300, 300)],
      'a+ b+ c+: at least 300 of 300',
    ],
    [
      'takes none for copied that another one may hide',
      [list('a+ b+'), list('b+ c', 300, 80), list('d+')],
      'a b+ c d: at least 80 of 300',
    ],
    [
      'waits for one that lists none yet',
      [list('a+ b'), list('')],
      'a b: at least 0 of 2, 1 unknown',
    ],
    ['knows nothing', [], ': 0 of 0'],
  ];
  for (const [what, lists, expected] of cases)
    it(what, () => {
      assert.equal(combined(lists), expected);
    });

  it('waits for one that does not answer', () => {
    assert.equal(combined([list('a+ b')], 2), 'a b: at least 0 of 2, 1 unknown');
  });

  it('adds up the bytes of the parts', () => {
    const { collections } = combineCollections([list('a'), list('a')], 2);
    assert.deepEqual(
      collections.map(({ totalBytes, copiedBytes }) => [totalBytes, copiedBytes]),
      [[10, 8]],
    );
  });

  it('takes all for copied once the copy is done, whatever is not listed', () => {
    const { collections, copied, isExact } = allCopied(combineCollections([list('a+ b')], 2));
    assert.deepEqual(
      [collections.map(({ isCopied }) => isCopied), copied, isExact],
      [[true, true], 2, false],
    );
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
