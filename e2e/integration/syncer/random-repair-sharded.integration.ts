import { testRandomShardedWorkloads } from './random-sharded-cases.ts';
import { useShardedPair } from './sharded-pair.ts';

describe('a random workload on two shards, synced to two and repaired', () => {
  const seeds = { 'one instance': [2], 'two instances': [4] };
  testRandomShardedWorkloads(useShardedPair(2, 2), seeds, { isRepaired: true });
});
