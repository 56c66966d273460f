import { MongoClient, type Db } from 'mongodb';
import {
  startReplicaSet,
  type ReplicaSet,
  type ReplicaSetOptions,
} from '../../ground/mongod/replica-set.ts';

/** Two replica sets of one member under verification. */
export interface ReplicaSetPair {
  /** The source, then the destination. */
  readonly sets: readonly ReplicaSet[];
  /** Clients of them that may do everything. */
  readonly clients: readonly MongoClient[];
  /** The database `shop` of each. */
  readonly source: Db;
  readonly destination: Db;
}

/** Gives the tests of a suite two replica sets: to be called in `describe`, used in hooks and tests. */
export function useReplicaSetPair(
  options: Pick<ReplicaSetOptions, 'parameters'> = {},
): ReplicaSetPair {
  let sets: readonly ReplicaSet[] = [];
  let clients: readonly MongoClient[] = [];
  before(async () => {
    const names = ['source', 'destination'] as const;
    sets = await Promise.all(
      names.map(async (syncerRoles) => {
        return await startReplicaSet({ members: 1, syncerRoles, ...options });
      }),
    );
    clients = sets.map((set) => new MongoClient(set.uri('admin')));
  });
  after(async () => {
    for (const client of clients) await client.close();
    for (const set of sets) await set.stop();
  });
  const shopOf = (index: number): Db => {
    const client = clients[index];
    if (!client) throw new Error('the replica sets are started by the hooks of their suite');
    return client.db('shop');
  };
  return {
    get sets() {
      return sets;
    },
    get clients() {
      return clients;
    },
    get source() {
      return shopOf(0);
    },
    get destination() {
      return shopOf(1);
    },
  };
}
