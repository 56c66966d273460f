import assert from 'node:assert/strict';
import { Timestamp, UUID } from 'mongodb';
import type { Deployment } from '../../mongo/deployment.ts';
import type { ShardKey } from '../../mongo/shard-key.ts';
import { SyncMonitor } from '../monitor/monitor.ts';
import type { Addressing, TrackedCollection } from '../store/records.ts';
import { ShardedSourceKind } from './sharded-source.ts';
import { replicaSetSource, type SourceKind } from './source-kind.ts';

const byNumber: ShardKey = [{ field: 'number', kind: 1 }];
const byId: ShardKey = [{ field: '_id', kind: 'hashed' }];
const collated = { collation: { locale: 'sv' } };

/** No server is asked for what these tests look at. */
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
