import { chosenCases } from '../../ground/workload/chosen-seeds.ts';
import { testRandomShardedWorkloads } from './random-sharded-cases.ts';
import { useShardedPair } from './sharded-pair.ts';

const cases = [
  // What it has shown, `read-concern.test` is about: a document read from before its change.
  { by: 'one instance', seed: 2 },
  { by: 'two instances', seed: 5 },
  { by: 'one instance', seed: 7 },
  { by: 'two instances', seed: 8 },
] as const;

describe('a random workload on two shards, synced to two', () => {
  testRandomShardedWorkloads(useShardedPair(2, 2), chosenCases(cases, 2));
});
