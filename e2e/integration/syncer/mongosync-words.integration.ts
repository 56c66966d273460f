import assert from 'node:assert/strict';
import type { SyncerProgress } from '../../ground/syncer-process.ts';
import { commitAndWait, endPreparation, forward, useClusterPair } from './cluster-pair.ts';
import { canBeSlow, holdCommands } from './slow-commands.ts';

const warning = /^verification\.enabled has no effect: .*run the verifier$/;

describe('what later versions of mongosync say, on real servers', () => {
  const pair = useClusterPair({ parameters: canBeSlow });
  beforeEach(async () => {
    await pair.reset();
    await pair.source.client
      .db('shop')
      .collection('items')
      .insertMany([{ n: 1 }, { n: 2 }]);
    await endPreparation(pair.source);
  });

  it('ceaStage: the changes made during the copy are drained, then the state is steady, also after a restart', async () => {
    const items = pair.source.client.db('shop').collection('items');
    await using syncer = await pair.syncer();
    assert.equal((await syncer.progress()).ceaStage, null);
    const copying = await holdCommands(pair.destination, 'insert', 'shop.items');
    await syncer.start(forward);
    await copying.reached(1);
    const { info, ceaStage } = await syncer.progress();
    assert.deepEqual({ info, ceaStage }, { info: 'collection copy', ceaStage: null });
    await items.updateOne({ n: 1 }, { $set: { n: 3 } });
    const reading = await holdCommands(pair.source, 'getMore');
    await copying[Symbol.asyncDispose]();
    const draining = await syncer.waitFor((now) => now.info === 'change event application');
    assert.equal(draining.ceaStage, 'collection copy drain');
    await reading.reached(1);
    const held = await syncer.progress();
    assert.equal(held.ceaStage, 'collection copy drain');
    assert.equal(held.totalEventsApplied, 0);
    await reading[Symbol.asyncDispose]();
    const steady = await syncer.waitFor((now) => now.ceaStage === 'steady state');
    assert.equal(steady.totalEventsApplied, 1);
    await syncer.kill();
    await syncer.restart();
    await syncer.waitFor((now) => {
      assert.notEqual(now.ceaStage, 'collection copy drain');
      return now.ceaStage === 'steady state';
    });
    await syncer.waitFor(({ canCommit }) => canCommit);
    await commitAndWait(syncer);
    assert.equal((await syncer.progress()).ceaStage, null);
    await pair.assertEqual();
  });

  it('verification: enabled is accepted, and progress never lets it be taken for done', async () => {
    const body = { ...forward, verification: { enabled: true } };
    await using syncer = await pair.syncer();
    await syncer.start(body);
    assertNotVerified(await syncer.waitFor(({ canCommit }) => canCommit), 1);
    await syncer.kill();
    await syncer.restart();
    assertNotVerified(await syncer.waitFor(({ canCommit }) => canCommit), 1);
    await commitAndWait(syncer);
    assertNotVerified(await syncer.progress(), 1);
  });

  it('verification: not enabled is accepted without a word about it; anything else is refused', async () => {
    await using syncer = await pair.syncer();
    for (const verification of [true, {}, { enabled: 'yes' }, { enabled: true, phase: 1 }]) {
      const { status, body } = await syncer.post('start', { ...forward, verification });
      assert.deepEqual([status, body['error']], [400, 'InvalidBody'], JSON.stringify(verification));
    }
    await syncer.start({ ...forward, verification: { enabled: false } });
    assertNotVerified(await syncer.waitFor(({ canCommit }) => canCommit), 0);
  });
});

function assertNotVerified(progress: SyncerProgress, warnings: number): void {
  assert.ok(!('verification' in progress), 'as with the embedded verifier off');
  assert.equal(progress.warnings?.filter((text) => warning.test(text)).length, warnings);
}
