import assert from 'node:assert/strict';
import { MongoClient } from 'mongodb';
import { assertEqualClusters } from '../../ground/compare.ts';
import {
  startProxiedReplicaSet,
  type ProxiedReplicaSet,
} from '../../ground/mongod/proxied-replica-set.ts';
import {
  startSyncerProcess,
  type SyncerProcess,
  type SyncerProgress,
} from '../../ground/syncer-process.ts';
import { commitAndWait, startSyncing } from './cluster-pair.ts';

type SideName = 'source' | 'destination';

/** What progress says where a side does not answer. */
const warnings: Readonly<Record<SideName, RegExp>> = {
  source: /commit: not possible now: cluster0 has not answered for \d+ s/,
  destination:
    /commit: not possible now: a majority of cluster1 has not acknowledged a write for \d+ s/,
};

function textOf({ warnings: told }: SyncerProgress): string {
  return told?.join('\n') ?? '';
}

interface Fault {
  readonly what: string;
  readonly side: SideName;
  readonly begin: (set: ProxiedReplicaSet) => Promise<void>;
  readonly end: (set: ProxiedReplicaSet) => Promise<void>;
}

const faults = (['source', 'destination'] as const).flatMap((side): Fault[] => [
  {
    what: `the ${side} is frozen`,
    side,
    begin: async ({ set }) => {
      for (const member of set.members) await set.kill(member, 'SIGSTOP');
    },
    end: async ({ set }) => {
      for (const member of set.members) await set.kill(member, 'SIGCONT');
    },
  },
  {
    what: `the network to the ${side} is silent`,
    side,
    begin: async ({ proxies }) => {
      for (const proxy of proxies) proxy.freeze();
      await Promise.resolve();
    },
    end: async ({ proxies }) => {
      for (const proxy of proxies) proxy.heal();
      await Promise.resolve();
    },
  },
]);

describe('contract 2.2: canCommit means that a commit request will succeed', function () {
  this.timeout(600_000);
  let pair: Record<SideName, ProxiedReplicaSet>;
  let syncer: SyncerProcess;

  before(async () => {
    const [source, destination] = await Promise.all(
      (['source', 'destination'] as const).map(
        async (name) => await startProxiedReplicaSet({ name, members: 1 }),
      ),
    );
    assert.ok(source && destination);
    pair = { source, destination };
    await using client = new MongoClient(source.set.uri('admin'));
    await client
      .db('shop')
      .collection('items')
      .insertMany([{ n: 1 }, { n: 2 }]);
    syncer = await startSyncing(
      await startSyncerProcess({
        cluster0: source.set.uri('syncer'),
        cluster1: destination.set.uri('syncer'),
      }),
      {},
    );
  });

  after(async () => {
    await syncer[Symbol.asyncDispose]();
    for (const side of Object.values(pair)) await side[Symbol.asyncDispose]();
  });

  for (const { what, side, begin, end } of faults) {
    it(`is false while ${what}, with a warning, and true again after that`, async () => {
      await syncer.waitFor(({ canCommit }) => canCommit);
      await begin(pair[side]);
      await syncer.waitFor(({ canCommit }) => !canCommit);
      const told = await syncer.waitFor((progress) => warnings[side].test(textOf(progress)));
      assert.deepEqual([told.state, told.canCommit], ['RUNNING', false]);
      const other = side === 'source' ? 'destination' : 'source';
      assert.doesNotMatch(textOf(told), warnings[other]);
      const { status, body } = await syncer.post('commit', {});
      assert.deepEqual({ status, error: body['error'] }, { status: 409, error: 'CannotCommitYet' });
      await end(pair[side]);
      const after = await syncer.waitFor(({ canCommit }) => canCommit);
      assert.doesNotMatch(textOf(after), /^commit:/m);
    });
  }

  it('is taken when both answer', async () => {
    await commitAndWait(syncer);
    await assertEqualClusters(pair.source.set.uri('admin'), pair.destination.set.uri('admin'));
  });
});
