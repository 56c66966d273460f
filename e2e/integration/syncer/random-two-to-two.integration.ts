import { testRandomShardedWorkloads } from './random-sharded-cases.ts';
import { useShardedPair } from './sharded-pair.ts';

describe('a random workload on two shards, synced to two', () => {
  testRandomShardedWorkloads(useShardedPair(2, 2), {
    // 2 has shown what `read-concern.test` is about: a document read from before its change.
    'one instance': [2, 7],
    'two instances': [5, 8],
  });
});
