import assert from 'node:assert/strict';
import { Timestamp } from 'mongodb';
import type { Deployment } from '../../mongo/deployment.ts';
import { SyncMonitor } from '../monitor/monitor.ts';
import { latestKnownTime, readConcernNow } from './known-times.ts';
import { ShardedSourceKind } from './sharded-source.ts';
import { replicaSetSource, type SourceKind } from './source-kind.ts';

/** What a source is: no server is asked for that. */
function kindOf(isSharded: boolean, monitor: SyncMonitor): Pick<SourceKind, 'readLevelFor'> {
  const { signal } = new AbortController();
  const deployment = {} as Deployment;
  const catalog = { collections: () => [], collectionAt: () => undefined };
  const warn = async (): Promise<void> => {
    await Promise.resolve();
  };
  return isSharded
    ? new ShardedSourceKind(deployment, catalog, monitor, signal)
    : replicaSetSource(deployment, {}, warn, signal);
}

describe('readConcernNow', () => {
  const received = new Timestamp({ t: 100, i: 7 });
  const sharded = [{ field: 'k', kind: 1 }] as const;

  function readConcern(isSharded: boolean, key: typeof sharded | null): object {
    const monitor = new SyncMonitor();
    monitor.receivedTime = received;
    return readConcernNow(monitor, kindOf(isSharded, monitor).readLevelFor(key));
  }

  // A router that had not heard of the change answered with the document as it was before: seed 2 of the random workload
  // on two shards lost one by it.
  it('is not before the latest event that was received', () => {
    const afterClusterTime = received;
    assert.deepEqual(readConcern(false, null), { level: 'majority', afterClusterTime });
    assert.deepEqual(readConcern(true, null), { level: 'majority', afterClusterTime });
    assert.deepEqual(readConcern(true, sharded), { level: 'snapshot', afterClusterTime });
  });

  it('is not before what was applied, while nothing was received', () => {
    const monitor = new SyncMonitor();
    monitor.appliedTime = received;
    assert.deepEqual(readConcernNow(monitor, 'majority'), {
      level: 'majority',
      afterClusterTime: received,
    });
  });

  it('is not before the event that is read for, which may be later than all that was received', () => {
    const event = new Timestamp({ t: 100, i: 8 });
    const monitor = new SyncMonitor();
    monitor.receivedTime = received;
    monitor.appliedTime = new Timestamp({ t: 99, i: 1 });
    assert.deepEqual(readConcernNow(monitor, 'majority', event), {
      level: 'majority',
      afterClusterTime: event,
    });
    assert.deepEqual(latestKnownTime(monitor, new Timestamp({ t: 99, i: 9 }), null), received);
  });

  it('is any time before the first event', () => {
    assert.deepEqual(readConcernNow(new SyncMonitor(), 'majority'), { level: 'majority' });
  });
});
