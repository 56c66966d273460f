import { testRandomShardedWorkloads } from './random-sharded-cases.ts';
import { useShardedPair } from './sharded-pair.ts';

describe('a random workload on two shards, synced to two', function () {
  this.timeout(400_000);
  testRandomShardedWorkloads(useShardedPair(2, 2), {
    'one instance': [1, 2, 3, 4],
    'two instances': [5, 6, 7, 8],
  });
});
