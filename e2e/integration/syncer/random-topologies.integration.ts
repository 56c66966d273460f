import { chosenCases } from '../../ground/workload/chosen-seeds.ts';
import { useMergedPair } from './merged-pair.ts';
import { testRandomShardedWorkloads, type ShardedCase } from './random-sharded-cases.ts';
import { useShardedPair, type PairToSync } from './sharded-pair.ts';

/** Besides two shards synced to two, which are tried each day. */
const topologies = {
  'one shard, synced to two': () => useShardedPair(2, 1),
  'two shards, synced to three': () => useShardedPair(3, 2),
  'three shards, synced to two': () => useShardedPair(2, 3),
  'two shards, synced to a replica set': () => useMergedPair(2),
} as const satisfies Record<string, () => PairToSync>;

/** In the order of the days, so that each topology has its turn every other day. */
const cases: readonly (ShardedCase & { readonly topology: keyof typeof topologies })[] = [
  { topology: 'one shard, synced to two', by: 'one instance', seed: 9 },
  { topology: 'two shards, synced to three', by: 'one instance', seed: 3 },
  { topology: 'three shards, synced to two', by: 'three instances', seed: 3 },
  { topology: 'two shards, synced to a replica set', by: 'one instance', seed: 2 },
  { topology: 'one shard, synced to two', by: 'one instance', seed: 4 },
  { topology: 'two shards, synced to three', by: 'two instances', seed: 4 },
  { topology: 'three shards, synced to two', by: 'three instances', seed: 6 },
  { topology: 'two shards, synced to a replica set', by: 'two instances', seed: 5 },
  // What it has shown, a test of `crashes` shows each time: updates repeated over a rename.
  { topology: 'one shard, synced to two', by: 'one instance', seed: 16 },
  { topology: 'two shards, synced to three', by: 'two instances', seed: 11 },
  { topology: 'three shards, synced to two', by: 'three instances', seed: 2 },
  { topology: 'two shards, synced to a replica set', by: 'two instances', seed: 8 },
];

const chosen = chosenCases(cases, 2);
for (const [name, usePair] of Object.entries(topologies)) {
  const own = chosen.filter(({ topology }) => topology === name);
  if (own.length === 0) continue;
  describe(`a random workload on ${name}`, () => {
    testRandomShardedWorkloads(usePair(), own);
  });
}
