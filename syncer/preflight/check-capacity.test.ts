import assert from 'node:assert/strict';
import { diskFindings, indexTimeFindings, oplogFindings } from './check-capacity.ts';
import type { Finding } from './finding.ts';

const GB = 1_000_000_000;
const names = (findings: readonly Finding[]): string[] =>
  findings.map((found) => (found.severity === 'blocker' ? found.error.name : found.name));

describe('oplogFindings', () => {
  // At 20 MB/s: 10,000 s.
  const size = { dataBytes: 200 * GB, storedBytes: 100 * GB };
  const full = { sizeBytes: GB, maxBytes: GB };

  it('warns of an oplog that covers less than twice the time of the copy', () => {
    assert.deepEqual(names(oplogFindings(size, { ...full, spanSeconds: 19_000 })), [
      'OplogTooShort',
    ]);
    assert.deepEqual(names(oplogFindings(size, { ...full, spanSeconds: 21_000 })), [
      'CopyEstimated',
    ]);
  });

  it('tells both times, and that the rate is assumed', () => {
    const [found] = oplogFindings(size, { ...full, spanSeconds: 7_200 });
    assert.ok(found?.severity === 'warning');
    assert.equal(
      found.message,
      'the oplog covers about 2 h; the copy of 200 GB takes about 2 h 46 min, at an assumed 20.0 MB/s',
    );
  });

  it('advises to measure a rate that is assumed', () => {
    const [found] = oplogFindings(size, { ...full, spanSeconds: 21_000 });
    assert.match(String(found?.action), /^Measure the rate/);
  });

  it('counts the room that is left in an oplog that is not full', () => {
    const half = { sizeBytes: 0.5 * GB, maxBytes: GB };
    assert.deepEqual(names(oplogFindings(size, { ...half, spanSeconds: 11_000 })), [
      'CopyEstimated',
    ]);
    assert.deepEqual(names(oplogFindings(size, { ...half, spanSeconds: 9_000 })), [
      'OplogTooShort',
    ]);
  });

  it('says that it is unknown if it is too young, or cannot be read', () => {
    const young = { sizeBytes: 0.1 * GB, maxBytes: GB, spanSeconds: 600 };
    for (const oplog of [young, 'not authorized'])
      assert.deepEqual(names(oplogFindings(size, oplog)), ['OplogUnknown']);
  });

  it('says nothing of a copy that takes less than a minute', () => {
    const small = { dataBytes: GB, storedBytes: GB };
    for (const oplog of [{ ...full, spanSeconds: 1 }, 'not authorized'])
      assert.deepEqual(oplogFindings(small, oplog), []);
  });
});

describe('oplogFindings of a copy whose speed was measured', () => {
  const full = { sizeBytes: GB, maxBytes: GB };
  const measured = (megabytesPerSecond: number) => ({
    bytes: 2_500_000 * megabytesPerSecond,
    seconds: 2.5,
  });
  const hour = 3_600;
  for (const [what, dataGB, speed, oplog, expected] of [
    ['a window of less than twice the time', 200, 10, 11 * hour, 'OplogTooShort'],
    ['the same window, and a faster copy', 200, 20, 11 * hour, 'CopyEstimated'],
    ['the same window, and less data', 100, 10, 11 * hour, 'CopyEstimated'],
    ['a longer window', 200, 10, 12 * hour, 'CopyEstimated'],
    ['a copy of less than a minute', 0.5, 10, 1, 'CopyEstimated'],
    ['the same data, and a slower copy', 0.5, 8, 1, 'OplogTooShort'],
    ['an unknown window', 200, 10, 'not authorized', 'OplogUnknown'],
    ['an unknown window, of no importance', 0.5, 10, 'not authorized', 'CopyEstimated'],
    ['no data', 0, 10, 1, 'CopyEstimated'],
  ] as const)
    it(`${what}: ${expected}`, () => {
      const size = { dataBytes: dataGB * GB, storedBytes: 0 };
      const known = typeof oplog === 'string' ? oplog : { ...full, spanSeconds: oplog };
      assert.deepEqual(names(oplogFindings(size, known, measured(speed))), [expected]);
    });

  it('tells the time, the speed, and how it was measured', () => {
    const size = { dataBytes: 200 * GB, storedBytes: 0 };
    const [found] = oplogFindings(size, { ...full, spanSeconds: 100 * hour }, measured(20));
    assert.ok(found?.severity === 'advice');
    assert.equal(
      found.message,
      'the copy of 200 GB takes about 2 h 46 min, at a measured 20.0 MB/s (50.0 MB in 2.5 s)',
    );
  });
});

describe('indexTimeFindings', () => {
  const collection = (
    namespace: string,
    dataGB: number,
    secondaryIndexes: number,
    documentBytes = 1_000,
  ) => ({
    ...{ namespace, dataBytes: dataGB * GB, secondaryIndexes },
    documentCount: (dataGB * GB) / documentBytes,
  });

  it('advises to build indexes afterwards where collections with several take long to copy', () => {
    const several = [
      collection('shop.large', 1.3, 2),
      collection('shop.larger', 1.5, 5),
      collection('shop.small', 1.1, 5),
      collection('shop.empty', 0, 5),
      collection('shop.plain', 900, 1),
      collection('shop.files', 900, 5, 50_000),
    ];
    const [found, ...others] = indexTimeFindings(several);
    assert.ok(found?.severity === 'advice');
    assert.deepEqual(others, []);
    assert.equal(
      found.message,
      '2.8 GB of small documents are in large collections with several secondary indexes, which are built before the copy',
    );
    assert.deepEqual(found.namespaces, ['shop.larger', 'shop.large']);
  });

  it('says nothing of little data, or of one index', () => {
    for (const [dataGB, indexes] of [
      [1.1, 9],
      [900, 1],
      [900, 0],
    ] as const)
      assert.deepEqual(indexTimeFindings([collection('shop.a', dataGB, indexes)]), []);
  });
});

describe('diskFindings', () => {
  const size = { dataBytes: 20 * GB, storedBytes: 10 * GB };

  it('counts documents, indexes, and the oplog of the copy, as far as that can grow', () => {
    for (const [freeGB, oplogGrowthGB, expected] of [
      [100, 50, []],
      [32, 50, ['DiskTight']],
      [29, 50, ['DiskTooSmall']],
      [29, 5, []],
      [16, 5, ['DiskTight']],
      [14, 5, ['DiskTooSmall']],
    ] as const) {
      const disk = { freeBytes: freeGB * GB, oplogGrowthBytes: oplogGrowthGB * GB };
      assert.deepEqual(names(diskFindings(size, disk)), expected, `${freeGB} and ${oplogGrowthGB}`);
    }
  });

  it('says that it is unknown, but of next to no data', () => {
    assert.deepEqual(names(diskFindings(size, 'not authorized')), ['DiskUnknown']);
    const small = { dataBytes: 1_000, storedBytes: 20_000 };
    assert.deepEqual(diskFindings(small, 'not authorized'), []);
    assert.deepEqual(diskFindings(small, { freeBytes: 1, oplogGrowthBytes: GB }), []);
  });
});
