import assert from 'node:assert/strict';
import { Timestamp, UUID } from 'mongodb';
import type { Deployment } from '../../mongo/deployment.ts';
import type { ShardKey } from '../../mongo/shard-key.ts';
import { SyncMonitor } from '../monitor/monitor.ts';
import type { Addressing, TrackedCollection } from '../store/records.ts';
import { ShardedSourceKind } from './sharded-source.ts';
import {
  latestKnownTime,
  readConcernNow,
  replicaSetSource,
  type SourceKind,
} from './source-kind.ts';

const byNumber: ShardKey = [{ field: 'number', kind: 1 }];
const byId: ShardKey = [{ field: '_id', kind: 'hashed' }];
const collated = { collation: { locale: 'sv' } };

/** These tests ask no server. */
function kinds(): Readonly<Record<'replica set' | 'sharded cluster', SourceKind>> {
  const { signal } = new AbortController();
  const deployment = {} as Deployment;
  const catalog = { collections: () => [], collectionAt: () => undefined };
  const warn = async (): Promise<void> => {
    await Promise.resolve();
  };
  return {
    'replica set': replicaSetSource(deployment, {}, warn, signal),
    'sharded cluster': new ShardedSourceKind(deployment, catalog, new SyncMonitor(), signal),
  };
}

describe('how a document of the source is found on the destination', () => {
  const cases: readonly (readonly [
    what: string,
    collection: Pick<TrackedCollection, 'shardKey' | 'options'>,
    ofReplicaSet: Addressing,
    ofShardedCluster: Addressing,
  ])[] = [
    ['not sharded', { shardKey: null, options: {} }, 'byId', 'byId'],
    ['not sharded, collated', { shardKey: null, options: collated }, 'byId', 'byId'],
    ['sharded by _id', { shardKey: byId, options: {} }, 'byId', 'byId'],
    [
      'sharded by _id, collated',
      { shardKey: byId, options: collated },
      'onEveryShard',
      'byShardKey',
    ],
    ['sharded by a field', { shardKey: byNumber, options: {} }, 'onEveryShard', 'byShardKey'],
  ];
  for (const [what, collection, ofReplicaSet, ofShardedCluster] of cases) {
    it(`in a collection that is ${what}`, () => {
      const sources = kinds();
      assert.equal(sources['replica set'].addressingOf(collection), ofReplicaSet);
      assert.equal(sources['sharded cluster'].addressingOf(collection), ofShardedCluster);
    });
  }
});

describe('a collection that stands where a rename leads', () => {
  const before = new Timestamp({ t: 100, i: 1 });
  const after = new Timestamp({ t: 100, i: 2 });
  const occupant = { uuid: new UUID(), namedBy: before } as TrackedCollection;

  it('is gone before, on a sharded cluster alone, and unless it came later or is the same one', () => {
    const { 'replica set': one, 'sharded cluster': other } = kinds();
    assert.equal(other.isGoneBefore(after, new UUID(), occupant), true);
    assert.equal(other.isGoneBefore(before, new UUID(), occupant), false);
    assert.equal(other.isGoneBefore(after, occupant.uuid, occupant), false);
    assert.equal(one.isGoneBefore(after, new UUID(), occupant), false);
  });
});

/** The kind of a source, without asking a server. */
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

  // A router that had not heard of the change answered with the document as it was before: seed 2 of the random workload on two
  // shards lost a document that way.
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
