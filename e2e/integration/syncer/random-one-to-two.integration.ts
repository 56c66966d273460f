import { testRandomShardedWorkloads } from './random-sharded-cases.ts';
import { useShardedPair } from './sharded-pair.ts';

describe('a random workload on one shard, synced to two', () => {
  testRandomShardedWorkloads(useShardedPair(2, 1), {
    'one instance': [1, 9, 16, 20],
  });
});
