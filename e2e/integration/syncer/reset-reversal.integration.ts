import assert from 'node:assert/strict';
import { MongoClient } from 'mongodb';
import type { SyncerProcess } from '../../ground/syncer-process.ts';
import { until } from '../../ground/until.ts';
import { commitAndWait, useClusterPair, type ClusterPair } from './cluster-pair.ts';
import { assertNothingStored, inLog, isBlocked } from './reset-outcome.ts';
import { canBeSlow, slowCommands, type Obstacle } from './slow-commands.ts';
import { skipUnlessReversible } from './skip-reversal.ts';

/** Users write to the database `probe` to find out whether they can. */
const reversible = {
  reversible: true,
  enableUserWriteBlocking: true,
  excludeNamespaces: [{ database: 'probe' }],
};

/** A moment of a reversal at which the sync is reset. */
interface Moment {
  /** Which commands take longer on which side, so that the moment does not pass by. */
  readonly slow?: { readonly side: 'source' | 'destination'; readonly commands: readonly string[] };
  /** From a committed sync, to whose destination users have written. */
  readonly reach: (syncer: SyncerProcess, obstacle: Obstacle) => Promise<unknown>;
  /** Which side has all that users have written: `source` is that of the first direction. */
  readonly good: readonly ('source' | 'destination')[];
  /** Where users cannot write, at that moment and when it is reset with Unblock. */
  readonly blocked: Readonly<Record<'before' | 'unblocked', readonly ('source' | 'destination')[]>>;
}

const reverse = async (syncer: SyncerProcess): Promise<void> => {
  assert.equal((await syncer.post('reverse', {})).status, 200);
};

const moments: Readonly<Record<string, Moment>> = {
  'while the state is handed over': {
    slow: { side: 'source', commands: ['update', 'findAndModify', 'drop'] },
    reach: async (syncer, obstacle) => {
      await reverse(syncer);
      await obstacle.reached(1);
    },
    good: ['destination'],
    blocked: { before: ['source'], unblocked: ['source'] },
  },
  'while the old source is prepared': {
    slow: { side: 'source', commands: ['collMod'] },
    reach: async (syncer) => {
      await reverse(syncer);
      await inLog(syncer, '"phase":"preparing"');
    },
    good: ['destination'],
    blocked: { before: ['source'], unblocked: [] },
  },
  'while changes are applied': {
    reach: async (syncer) => {
      await reverse(syncer);
      await syncer.waitFor(({ canCommit }) => canCommit);
    },
    good: ['destination'],
    blocked: { before: ['source'], unblocked: [] },
  },
  'when the reversal is paused': {
    reach: async (syncer) => {
      await reverse(syncer);
      await syncer.waitFor(({ canCommit }) => canCommit);
      assert.equal((await syncer.post('pause', {})).status, 200);
    },
    good: ['destination'],
    blocked: { before: ['source'], unblocked: [] },
  },
  'during its commit, before users may write': {
    slow: { side: 'source', commands: ['collMod'] },
    reach: async (syncer) => {
      await reverse(syncer);
      await syncer.waitFor(({ canCommit }) => canCommit);
      await syncer.commit();
      await inLog(syncer, '"phase":"restoring","state":"COMMITTING"');
      await until('of the reversal', async () => {
        return (await syncer.log()).split('"phase":"restoring"').length === 3;
      });
    },
    good: ['source', 'destination'],
    blocked: { before: ['source', 'destination'], unblocked: [] },
  },
  'when it is committed': {
    reach: async (syncer) => {
      await reverse(syncer);
      await syncer.waitFor(({ canCommit }) => canCommit);
      await commitAndWait(syncer);
    },
    good: ['source', 'destination'],
    blocked: { before: ['destination'], unblocked: ['destination'] },
  },
};

describe('reset during and after a reversal: neither side loses anything', () => {
  before(async function () {
    await skipUnlessReversible(this);
  });

  const pair = useClusterPair({
    parameters: canBeSlow,
    roles: { source: 'sourceWithWriteBlocking', destination: 'sourceWithWriteBlocking' },
  });

  beforeEach(async () => {
    await pair.reset();
    const shop = pair.source.client.db('shop');
    await shop.collection('items').insertMany(Array.from({ length: 100 }, (_, n) => ({ n })));
    await shop.command({
      createIndexes: 'items',
      indexes: [{ key: { n: 1 }, name: 'n', unique: true }],
    });
    await shop.createCollection('view', { viewOn: 'items', pipeline: [] });
  });

  const sides = ['source', 'destination'] as const;

  async function blocked(): Promise<string[]> {
    const found: string[] = [];
    for (const name of sides) if (await isBlocked(pair[name])) found.push(name);
    return found;
  }

  for (const [when, { slow, reach, good, blocked: expected }] of Object.entries(moments)) {
    for (const body of ['Keep', 'Unblock'] as const) {
      it(`${when}, with ${body}; Clean is refused`, async () => {
        await using syncer = await pair.syncing(reversible);
        await commitAndWait(syncer);
        await asUser(pair, 'destination');
        {
          await using obstacle = await slowCommands(
            pair[slow?.side ?? 'source'],
            slow?.commands ?? [],
            2_000,
          );
          await reach(syncer, obstacle);
          const { status, body: refused } = await syncer.post('reset', { destination: 'Clean' });
          assert.deepEqual([status, refused['error']], [409, 'CleanNotAllowed']);
          assert.deepEqual(await blocked(), expected.before);
          assert.equal((await syncer.post('reset', { destination: body })).status, 200);
        }
        await syncer.waitFor(({ state }) => state === 'IDLE');
        assert.deepEqual(await blocked(), body === 'Keep' ? expected.before : expected.unblocked);
        for (const name of sides) {
          const shop = pair[name].client.db('shop');
          const count = await shop.collection('items').countDocuments();
          // The other one has what was there before, whether it has been given the rest or not.
          const possible = good.includes(name) ? [101] : [100, 101];
          assert.ok(possible.includes(count), `${name} has ${count}`);
          assert.equal(await shop.collection('view').countDocuments(), count, name);
        }
        for (const name of sides) await assertNothingStored(pair[name]);
        await syncer.kill();
        await syncer.restart();
        assert.equal((await syncer.progress()).state, 'IDLE');
      });
    }
  }

  it('is finished by the next process, killed at each step', async () => {
    const steps = ['update', 'findAndModify', 'drop', 'delete', 'setUserWriteBlockMode'];
    let isKilled = true;
    let count = 0;
    for (let step = 1; isKilled; step += 3) {
      await pair.reset();
      await pair.source.client.db('shop').collection('items').insertOne({ n: 1 });
      await using syncer = await pair.syncing(reversible);
      await commitAndWait(syncer);
      await asUser(pair, 'destination');
      await reverse(syncer);
      await syncer.waitFor(({ canCommit }) => canCommit);
      // A reversal that can be committed may have changes left to apply.
      await until('the old source has what was written since', async () => {
        return (await pair.source.client.db('shop').collection('items').countDocuments()) === 2;
      });
      {
        await using slowness = await slowCommands(pair.source, steps, 150);
        const answer = syncer.post('reset', { destination: 'Unblock' }).catch(() => undefined);
        const ended = answer.then(async (given) => {
          if (given) await syncer.waitFor(({ state }) => state === 'IDLE').catch(() => undefined);
        });
        isKilled = await Promise.race([
          slowness.reached(step).then(
            () => true,
            () => false,
          ),
          ended.then(() => false),
        ]);
        await syncer.kill();
        await ended;
      }
      await syncer.restart();
      const { state } = await syncer.waitFor((now) => now.state === 'IDLE' || now.canCommit);
      if (state !== 'IDLE') {
        assert.equal((await syncer.post('reset', { destination: 'Unblock' })).status, 200);
        await syncer.waitFor((now) => now.state === 'IDLE');
      }
      assert.deepEqual(await blocked(), []);
      for (const name of sides)
        assert.equal(await pair[name].client.db('shop').collection('items').countDocuments(), 2);
      for (const name of sides) await assertNothingStored(pair[name]);
      if (isKilled) count++;
    }
    assert.ok(count > 3, `killed at ${count} steps`);
  });
});

/** An ordinary user writes to a side. */
async function asUser(pair: ClusterPair, side: 'source' | 'destination'): Promise<void> {
  await using client = new MongoClient(pair[side].set.uri('app'));
  await client.db('shop').collection('items').insertOne({ n: -1 });
}
