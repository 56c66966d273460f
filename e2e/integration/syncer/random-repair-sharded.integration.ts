import { chosenCases } from '../../ground/workload/chosen-seeds.ts';
import { testRandomShardedWorkloads } from './random-sharded-cases.ts';
import { useShardedPair } from './sharded-pair.ts';

const cases = [
  { by: 'one instance', seed: 2 },
  { by: 'two instances', seed: 4 },
  { by: 'one instance', seed: 7 },
  { by: 'two instances', seed: 5 },
] as const;

describe('a random workload on two shards, synced to two and repaired', () => {
  testRandomShardedWorkloads(useShardedPair(2, 2), chosenCases(cases, 1), { isRepaired: true });
});
