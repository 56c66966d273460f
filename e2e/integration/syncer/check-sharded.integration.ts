import assert from 'node:assert/strict';
import { MinKey } from 'mongodb';
import type { CheckAnswer, CheckFinding } from '../../../sync-api/json.ts';
import type { SyncerProcess } from '../../ground/syncer-process.ts';
import { forward } from './cluster-pair.ts';
import { useShardedPair } from './sharded-pair.ts';
import { isReversiblePair } from './skip-reversal.ts';

async function findingsOf(syncer: SyncerProcess, body: object = {}): Promise<readonly string[]> {
  const answer = await syncer.post('check', { ...forward, ...body });
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  const told = ({ severity, name, side, message }: CheckFinding): string =>
    `${severity} ${name} of ${side ?? 'both'}: ${message}`;
  return (answer.body as unknown as CheckAnswer).findings.map(told);
}

describe('POST /check of sharded clusters', () => {
  const pair = useShardedPair(1, 2);
  beforeEach(async () => {
    await pair.reset();
    await pair.source.client.db('shop').collection('items').insertOne({ n: 1 });
  });

  it('finds nothing on a clean pair', async () => {
    await using syncer = await pair.syncer();
    assert.deepEqual(await findingsOf(syncer), []);
  });

  it('measures the speed of the copy through the routers, and leaves nothing', async () => {
    await using syncer = await pair.syncer();
    const answer = await syncer.post('check?measureCopy=true', forward);
    const { findings } = answer.body as unknown as CheckAnswer;
    assert.deepEqual(
      findings.map(({ name }) => name),
      ['CopyEstimated'],
      JSON.stringify(findings),
    );
    const internal = pair.destination.client.db('clustersync_internal');
    assert.deepEqual(await internal.listCollections().toArray(), []);
  });

  it('names a zone that the destination has no shard in, until it has one', async () => {
    const { ground } = pair.source;
    assert.ok(ground);
    const [min, max] = [{ n: new MinKey() }, { n: 5 }];
    await pair.source.client
      .db('shop')
      .collection('items')
      .createIndexes([{ key: { n: 1 } }]);
    await ground.admin({ shardCollection: 'shop.items', key: { n: 1 } });
    const shard = ground.cluster.shards[0] ?? '';
    await ground.admin({ addShardToZone: shard, zone: 'far' });
    await ground.admin({ updateZoneKeyRange: 'shop.items', min, max, zone: 'far' });
    try {
      await using syncer = await pair.syncer();
      assert.deepEqual(await findingsOf(syncer), [
        'warning ZoneWithoutShard of destination: no shard of the destination is in the zone far, which has ranges of shop.items',
      ]);
      const addShardToZone = pair.destination.cluster.shards[0] ?? '';
      await pair.destination.admin({ addShardToZone, zone: 'far' });
      assert.deepEqual(await findingsOf(syncer), []);
    } finally {
      await ground.admin({ updateZoneKeyRange: 'shop.items', min, max, zone: null });
      await ground.admin({ removeShardFromZone: shard, zone: 'far' });
    }
  });

  it('names each balancer that is running, and what else is wrong', async () => {
    const { ground } = pair.source;
    assert.ok(ground);
    await using syncer = await pair.syncer();
    await ground.admin({ balancerStart: 1 });
    await pair.destination.admin({ balancerStart: 1 });
    try {
      const body = { reversible: true, enableUserWriteBlocking: true };
      const sharding = { shardingEntries: [] };
      const found = await findingsOf(syncer, { ...body, sharding });
      assert.deepEqual(
        found.map((text) => text.replace(/:.*/, '')),
        [
          'blocker ShardingNotAllowed of both',
          'blocker ReversibleNotSupported of both',
          // Nor is it between servers of several major versions.
          ...((await isReversiblePair()) ? [] : ['blocker ReversibleNotSupported of both']),
          'blocker BalancerRunning of source',
          'blocker BalancerRunning of destination',
        ],
      );
    } finally {
      await ground.admin({ balancerStop: 1 });
      await pair.destination.admin({ balancerStop: 1 });
    }
  });
});
