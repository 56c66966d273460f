import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { limitFlags, limitsOf } from './limit-flags.ts';

describe('limitsOf', () => {
  let folder = '';
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'clustersync-limits-'));
  });
  after(async () => {
    await rm(folder, { recursive: true });
  });

  async function fileWith(text: string): Promise<string> {
    const path = join(folder, 'limits.yaml');
    await writeFile(path, text);
    return path;
  }

  it('reads a file with or without the name limits, before the flags', async () => {
    for (const text of ['limits: { maxChangesPerSecond: 7 }', 'maxChangesPerSecond: 7'])
      assert.deepEqual(limitsOf({ limitsFile: await fileWith(text), limitConcurrentBatches: 3 }), {
        ...{ maxChangesPerSecond: 7, maxConcurrentBatches: 3 },
      });
    assert.deepEqual(limitsOf({ limitsFile: await fileWith('limits: {}') }), {});
    assert.equal(limitsOf({}), undefined);
  });

  it('refuses a file that has no mapping of limits: nothing would be limited', async () => {
    for (const text of ['', 'limits:', 'limits: 5', 'limits: [{ maxChangesPerSecond: 7 }]', '[]']) {
      const limitsFile = await fileWith(text);
      assert.throws(() => limitsOf({ limitsFile }), { name: 'InvalidOption' }, text);
    }
  });

  it('takes what holds the work back from flags of its own', () => {
    assert.deepEqual(limitsOf({ limitChangesPerSecond: 7, holdBackReplicationLagSeconds: 30 }), {
      maxChangesPerSecond: 7,
      holdBack: { maxReplicationLagSeconds: 30 },
    });
    assert.deepEqual(limitsOf({ holdBackFreeDiskPercent: 10 }), {
      holdBack: { minFreeDiskPercent: 10 },
    });
    assert.equal(limitsOf({}), undefined);
    assert.deepEqual(limitFlags['holdBackFreeDiskPercent']?.range, [1, 100]);
  });

  it('puts flags before a file, each for itself', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'clustersync-limits-'));
    try {
      const limitsFile = join(folder, 'limits.yaml');
      const holdBack = '{ maxQueuedOperations: 5, minFreeDiskPercent: 20 }';
      await writeFile(limitsFile, `limits: { maxChangesPerSecond: 9, holdBack: ${holdBack} }`);
      assert.deepEqual(limitsOf({ limitsFile, holdBackFreeDiskPercent: 10 }), {
        maxChangesPerSecond: 9,
        holdBack: { maxQueuedOperations: 5, minFreeDiskPercent: 10 },
      });
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
