import { testRandomShardedWorkloads } from './random-sharded-cases.ts';
import { useShardedPair } from './sharded-pair.ts';

describe('a random workload on two shards, synced to two', () => {
  const cases = [
    // What it has shown, `read-concern.test` is about: a document read from before its change.
    ['one instance', 2],
    ['two instances', 5],
    ['one instance', 7],
    ['two instances', 8],
  ] as const;
  testRandomShardedWorkloads(useShardedPair(2, 2), cases, { perDay: 2 });
});
