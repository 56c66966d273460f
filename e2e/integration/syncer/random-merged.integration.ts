import { useMergedPair } from './merged-pair.ts';
import { testRandomShardedWorkloads } from './random-sharded-cases.ts';

describe('a random workload on two shards, synced to a replica set', () => {
  testRandomShardedWorkloads(useMergedPair(2), [
    ['one instance', 2],
    ['two instances', 5],
    ['one instance', 7],
    ['two instances', 8],
  ]);
});
