import assert from 'node:assert/strict';
import type { SyncerProcess } from '../../ground/syncer-process.ts';
import { until } from '../../ground/until.ts';
import { commitAndWait, startSyncing, useClusterPair } from './cluster-pair.ts';
import { isBlocked } from './reset-outcome.ts';
import { canBeSlow, delayNext } from './slow-commands.ts';

const command = 'setUserWriteBlockMode';

/** The server gives it up after 14 s. */
const delayMs = 12_000;

describe('a change of who may write that the source still has, of a process or work that is gone', () => {
  const pair = useClusterPair({ parameters: canBeSlow });
  beforeEach(async () => {
    await pair.reset();
    await pair.source.client.db('shop').collection('items').insertOne({ n: 0 });
  });

  /** What becomes of a write of a user on the source when its server works on no such change any more. */
  async function writeLater(): Promise<'written' | 'blocked'> {
    const { client } = pair.source;
    await until('the server has ended all of them', async () => {
      const match = { [`command.${command}`]: { $exists: true } };
      const running = client
        .db('admin')
        .aggregate([{ $currentOp: { allUsers: true } }, { $match: match }]);
      return (await running.toArray()).length === 0;
    });
    return (await isBlocked(pair.source)) ? 'blocked' : 'written';
  }

  async function reset(syncer: SyncerProcess, destination: string): Promise<void> {
    const answer = await syncer.post('reset', { destination });
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    await syncer.waitFor(({ state }) => state === 'IDLE');
  }

  it('blocks nobody after a reset that lets users write, by the next process or the same one', async () => {
    for (const isKilled of [true, false]) {
      await using syncer = await pair.syncing({ enableUserWriteBlocking: true });
      const reached = await delayNext(pair.source, command, delayMs);
      const commit = syncer.commit().catch(() => undefined);
      await reached();
      if (isKilled) {
        await syncer.kill();
        await syncer.restart();
      }
      await reset(syncer, 'Clean');
      await commit;
      assert.equal(await writeLater(), 'written');
    }
  });

  it('lets nobody write to the source of a later sync that is committed', async () => {
    const shop = pair.source.client.db('shop');
    const indexes = [{ key: { n: 1 }, name: 'n', unique: true }];
    await shop.command({ createIndexes: 'items', indexes });
    await using syncer = await pair.syncing({ enableUserWriteBlocking: true });
    const isRestoring = await delayNext(pair.destination, 'collMod', 5_000);
    await syncer.commit();
    await isRestoring();
    const reached = await delayNext(pair.source, command, delayMs);
    const answered = syncer.post('reset', { destination: 'Clean' }).catch(() => undefined);
    await reached();
    await syncer.kill();
    await answered;
    await syncer.restart();
    await syncer.waitFor(({ state }) => state === 'IDLE');
    await startSyncing(syncer, { enableUserWriteBlocking: true });
    await commitAndWait(syncer);
    assert.equal(await writeLater(), 'blocked');
    await pair.assertEqual();
  });
});
