import { testRandomShardedWorkloads } from './random-sharded-cases.ts';
import { useShardedPair } from './sharded-pair.ts';

describe('a random workload on two shards, synced to two and repaired', () => {
  const cases = [
    ['one instance', 2],
    ['two instances', 4],
    ['one instance', 7],
    ['two instances', 5],
  ] as const;
  testRandomShardedWorkloads(useShardedPair(2, 2), cases, { isRepaired: true });
});
