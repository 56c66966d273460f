import { testRandomShardedWorkloads } from './random-sharded-cases.ts';
import { useShardedPair } from './sharded-pair.ts';

describe('a random workload on one shard, synced to two', () => {
  testRandomShardedWorkloads(useShardedPair(2, 1), {
    // 16 has shown what a test of `crashes` shows each time: updates repeated over a rename.
    'one instance': [9, 16],
  });
});
