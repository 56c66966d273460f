import { testRandomShardedWorkloads } from './random-sharded-cases.ts';
import { useShardedPair } from './sharded-pair.ts';

describe('a random workload on two shards, synced to three', () => {
  testRandomShardedWorkloads(useShardedPair(3, 2), [
    ['one instance', 3],
    ['two instances', 4],
    ['two instances', 11],
  ]);
});
