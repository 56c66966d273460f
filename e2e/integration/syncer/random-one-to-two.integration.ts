import { testRandomShardedWorkloads } from './random-sharded-cases.ts';
import { useShardedPair } from './sharded-pair.ts';

describe('a random workload on one shard, synced to two', () => {
  testRandomShardedWorkloads(useShardedPair(2, 1), [
    ['one instance', 9],
    // What it has shown, a test of `crashes` shows each time: updates repeated over a rename.
    ['one instance', 16],
  ]);
});
