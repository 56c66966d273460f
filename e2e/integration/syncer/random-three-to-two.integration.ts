import { testRandomShardedWorkloads } from './random-sharded-cases.ts';
import { useShardedPair } from './sharded-pair.ts';

describe('a random workload on three shards, synced to two', () => {
  testRandomShardedWorkloads(useShardedPair(2, 3), [
    ['three instances', 3],
    ['three instances', 6],
  ]);
});
