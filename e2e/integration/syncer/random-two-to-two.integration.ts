import { testRandomShardedWorkloads } from './random-sharded-cases.ts';
import { useShardedPair } from './sharded-pair.ts';

describe('a random workload on two shards, synced to two', () => {
  testRandomShardedWorkloads(useShardedPair(2, 2), {
    'one instance': [2, 7, 13],
    'two instances': [5, 8, 12, 14],
  });
});
