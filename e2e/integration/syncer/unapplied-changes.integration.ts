import assert from 'node:assert/strict';
import type { SyncerProgress } from '../../ground/syncer-process.ts';
import { commitAndWait, useClusterPair } from './cluster-pair.ts';
import { canBeSlow, failCommandsWith, holdCommands, type Obstacle } from './slow-commands.ts';

const interrupted = 11_601;

interface Fault {
  readonly what: string;
  /** What progress calls the work that fails. */
  readonly work: string;
  readonly begin: () => Promise<Obstacle>;
  /** Writes to the source what cannot be applied then. */
  readonly write: () => Promise<unknown>;
}

describe('contract 2.2: canCommit is false while a commit would wait for what fails', () => {
  const pair = useClusterPair({ parameters: canBeSlow });
  const shop = () => pair.source.client.db('shop');

  beforeEach(async () => {
    await pair.reset();
    await shop().collection('items').insertOne({ n: 0 });
  });

  const faults: readonly Fault[] = [
    {
      what: 'a document is refused',
      work: 'apply',
      begin: async () =>
        await failCommandsWith(pair.destination, ['insert'], interrupted, 'shop.items'),
      write: async () => await shop().collection('items').insertOne({ n: 1 }),
    },
    {
      what: 'a collection cannot be created',
      work: 'catalog change',
      begin: async () =>
        await failCommandsWith(pair.destination, ['create'], interrupted, 'shop.more'),
      write: async () => await shop().createCollection('more'),
    },
    {
      what: 'the changes of the source cannot be read',
      work: 'change stream',
      begin: async () => {
        const stream = ['aggregate', 'getMore'];
        return await failCommandsWith(pair.source, stream, interrupted, 'admin.$cmd.aggregate');
      },
      write: async () => await shop().collection('items').insertOne({ n: 2 }),
    },
  ];

  it('the destination never ends a write: a warning says so, the lag is not 0, and the sync waits for the end', async () => {
    await using syncer = await pair.syncing();
    const waiting = /^commit: not possible now: apply to shop\.items: waiting for \d+ s/m;
    {
      await using held = await holdCommands(pair.destination, 'insert', 'shop.items');
      await shop().collection('items').insertOne({ n: 1 });
      await held.reached(1);
      const told = await syncer.waitFor(({ warnings }) =>
        waiting.test((warnings ?? []).join('\n')),
      );
      assert.deepEqual([told.state, told.canCommit], ['RUNNING', false]);
      assert.ok((told.lagTimeSeconds ?? 0) >= 10, `a lag of ${told.lagTimeSeconds} s`);
    }
    await syncer.waitFor(({ canCommit }) => canCommit);
    await commitAndWait(syncer);
    await pair.assertEqual();
  });

  for (const { what, work, begin, write } of faults) {
    it(`${what}: with a warning, and true again after that`, async () => {
      await using syncer = await pair.syncing();
      const obstacle = new RegExp(`commit: not possible now: .*${work}: trying again for \\d+ s`);
      const isTold = ({ warnings }: SyncerProgress): boolean =>
        (warnings ?? []).some((text) => obstacle.test(text));
      {
        await using failing = await begin();
        await write();
        await failing.reached(1);
        const told = await syncer.waitFor(isTold);
        assert.deepEqual([told.state, told.canCommit], ['RUNNING', false]);
        const { status, body } = await syncer.post('commit', {});
        assert.deepEqual([status, body['error']], [409, 'CannotCommitYet']);
        assert.match(String(body['errorDescription']), obstacle);
        assert.equal((await syncer.progress()).state, 'RUNNING');
      }
      const after = await syncer.waitFor(({ canCommit }) => canCommit);
      assert.equal(isTold(after), false);
      await commitAndWait(syncer);
      await pair.assertEqual();
    });
  }
});
