import assert from 'node:assert/strict';
import type { SyncerProgress } from '../../ground/syncer-process.ts';
import { until } from '../../ground/until.ts';
import { startSyncing, useClusterPair } from './cluster-pair.ts';
import { writeSteadily } from './steady-writes.ts';

const megabyte = 1024 * 1024;
const oplogMegabytes = 32;
/** The server (6.0.5) truncates an oplog by so much at a time. */
const stepMegabytes = 16;
/** One reading of the oplog in two seconds, whole seconds, and a checkpoint in one. */
const toleranceSeconds = 5;

describe('estimatedOplogTimeRemainingSeconds', function () {
  this.timeout(900_000);
  const pair = useClusterPair({ oplogSizeMB: oplogMegabytes, args: ['--syncdelay', '1'] });

  it('of a paused sync comes true, and a warning is there all the time before', async () => {
    const items = pair.source.client.db('shop').collection('items');
    await items.insertOne({});
    await using syncer = await pair.syncer();
    const writes = writeSteadily(items, 150_000);
    let startedAt = 0;
    let writtenBefore = 0;
    const secondsNow = (): number => (performance.now() - startedAt) / 1000;
    const samples: { readonly at: number; readonly left: number; readonly isWarned: boolean }[] =
      [];
    let lostAt = 0;
    try {
      await startSyncing(syncer, {});
      // The rate is one of these writes alone: nothing is estimated from when there were none.
      await syncer.waitFor(({ estimatedOplogTimeRemainingSeconds: left }) => left !== null);
      assert.equal((await syncer.post('pause', {})).status, 200);
      startedAt = performance.now();
      writtenBefore = writes.writtenBytes;
      const isLost = ({
        estimatedOplogTimeRemainingSeconds: left,
        warnings,
      }: SyncerProgress): boolean => {
        if (left === null) return false;
        lostAt = secondsNow();
        if (left === 0) return true;
        const isWarned = warnings?.some((text) =>
          text.startsWith('the oplog of cluster0 runs short'),
        );
        samples.push({ at: secondsNow(), left, isWarned: isWarned ?? false });
        return false;
      };
      await syncer.waitFor(isLost, { deadlineMs: 600_000 });
    } finally {
      await writes.stop();
    }
    const stepSeconds = (stepMegabytes * megabyte * lostAt) / (writes.writtenBytes - writtenBefore);
    for (const { at, left, isWarned } of samples) {
      const truth = lostAt - at;
      const text = `${left} s estimated, ${truth} s in truth, truncated every ${stepSeconds} s`;
      assert.ok(left <= truth + toleranceSeconds, text);
      assert.ok(truth <= left + stepSeconds + toleranceSeconds, text);
      assert.ok(isWarned, text);
    }
    assert.ok(new Set(samples.map(({ left }) => left)).size > 3, 'it is seen to fall');
    assert.equal((await syncer.post('resume', {})).status, 200);
    await until('the failure', async () =>
      String((await syncer.getProgress()).body['error']).startsWith('OplogRolledOver: '),
    );
  });
});
