import assert from 'node:assert/strict';
import { Timestamp, type Document } from 'mongodb';
import { fakeCluster } from '../../mongo/testing/fake-cluster.ts';
import { checkCapacity, diskFindings, oplogFindings } from './check-capacity.ts';
import type { CheckSubject } from './check-subject.ts';
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
    assert.deepEqual(oplogFindings(size, { ...full, spanSeconds: 20_000 }), []);
  });

  it('tells both times, and that the rate is assumed', () => {
    const [found] = oplogFindings(size, { ...full, spanSeconds: 7_200 });
    assert.ok(found?.severity === 'warning');
    assert.equal(
      found.message,
      'the oplog covers about 2 h; the copy of 200 GB takes about 2 h 46 min, at an assumed 20.0 MB/s',
    );
  });

  it('counts the room that is left in an oplog that is not full', () => {
    const half = { sizeBytes: 0.5 * GB, maxBytes: GB };
    assert.deepEqual(oplogFindings(size, { ...half, spanSeconds: 11_000 }), []);
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

describe('checkCapacity', () => {
  const oplog = { size: GB, maxSize: 50 * GB, storageSize: 30 * GB };
  const disk = (totalGB: number, usedGB: number): Document => ({
    fsTotalSize: totalGB * GB,
    fsUsedSize: usedGB * GB,
  });
  const at = (second: number): Timestamp => new Timestamp({ t: second, i: 1 });

  /** One that answers what it is asked about its oplog and its disks. */
  function deployment(stats: Document, kind = 'replicaSet', oplogStats: Document = oplog) {
    const cluster = fakeCluster((command) => {
      const [name] = Object.keys(command);
      if (name === 'dbStats') return stats;
      if (kind === 'sharded') throw new Error('routers do not know');
      if (name === 'hello') return { lastWrite: { opTime: { ts: at(20_000) } } };
      if (name === 'find') return { cursor: { firstBatch: [{ ts: at(1_000) }] } };
      return oplogStats;
    });
    return { cluster, topology: { kind } };
  }

  const full = { ...oplog, size: oplog.maxSize };
  const covered = deployment({}, 'replicaSet', { ...oplog, size: 25 * GB });

  /** What is found of two collections that have 200 GB together, on disk the half of that. */
  async function found(
    source: ReturnType<typeof deployment>,
    destination: ReturnType<typeof deployment>,
    { signal } = new AbortController(),
  ): Promise<string[]> {
    const sizes = [150, 50].map((size) => ({ dataBytes: size * GB, storedBytes: (size / 2) * GB }));
    const subject = { sizes: () => Promise.resolve(sizes), source, destination, signal };
    return names(await checkCapacity(subject as unknown as CheckSubject, undefined));
  }

  it('compares the time that the oplog of the source covers with the copy of all collections', async () => {
    const roomy = deployment(disk(1_000, 0));
    assert.deepEqual(await found(deployment({}, 'replicaSet', full), roomy), ['OplogTooShort']);
    assert.deepEqual(await found(covered, roomy), []);
  });

  it('counts as needed what the oplog of the destination can still grow', async () => {
    for (const [usedGB, expected] of [
      [149, []],
      [150, ['DiskTight']],
      [180, ['DiskTight']],
      [181, ['DiskTooSmall']],
    ] as const)
      assert.deepEqual(await found(covered, deployment(disk(300, usedGB))), expected, `${usedGB}`);
    const grown = { ...oplog, storageSize: 80 * GB };
    const destination = deployment(disk(300, 199), 'replicaSet', grown);
    assert.deepEqual(await found(covered, destination), ['DiskTight'], 'it does not shrink');
  });

  it('adds up what is free on the disks of the shards, none of which has less than nothing', async () => {
    const shards = (usedGB: number): Document => ({
      raw: { a: disk(100, 37), b: disk(100, usedGB), c: disk(10, 30) },
      ...disk(90, 0),
    });
    assert.deepEqual(await found(covered, deployment(shards(37), 'sharded')), []);
    assert.deepEqual(await found(covered, deployment(shards(38), 'sharded')), ['DiskTight']);
  });

  it('says what it cannot find out', async () => {
    const source = deployment({}, 'sharded');
    assert.deepEqual(await found(source, deployment(disk(0, 0))), ['OplogUnknown', 'DiskUnknown']);
  });

  it('ends when it is told to, and takes that for no answer', async () => {
    const stop = new AbortController();
    stop.abort(new Error('enough'));
    await assert.rejects(found(covered, deployment({}), stop), /enough/);
  });
});
