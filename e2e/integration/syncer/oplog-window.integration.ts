import assert from 'node:assert/strict';
import type { SyncerProcess } from '../../ground/syncer-process.ts';
import { until } from '../../ground/until.ts';
import { commitAndWait, forward, useClusterPair, type Side } from './cluster-pair.ts';
import { rollOver } from '../../ground/roll-over.ts';
import { skipUnlessReversible } from './skip-reversal.ts';
import { canBeSlow, holdCommands } from './slow-commands.ts';
import { withUser } from './source-user.ts';

describe('an oplog that has rolled over', () => {
  const pair = useClusterPair({
    oplogSizeMB: 1,
    parameters: canBeSlow,
    // Nothing is truncated that is later than the last checkpoint.
    args: ['--syncdelay', '1'],
  });
  beforeEach(async () => {
    await pair.reset();
    await pair.source.client.db('shop').collection('items').insertOne({ n: 1 });
  });

  it('while the tool was paused and down: OplogRolledOver, and all is kept', async () => {
    const { source, destination } = pair;
    const items = destination.client.db('shop').collection('items');
    await using syncer = await pair.syncing({ enableUserWriteBlocking: true });
    assert.equal((await syncer.post('pause', {})).status, 200);
    await syncer.kill();
    await rollOver(source);
    await syncer.restart();
    assert.equal((await syncer.progress()).state, 'PAUSED');
    assert.equal((await syncer.post('resume', {})).status, 200);
    await hasFailed(syncer);
    for (const command of ['pause', 'resume', 'commit', 'reverse'])
      assert.equal((await syncer.post(command, {})).body['error'], 'OplogRolledOver', command);
    const again = await syncer.post('start', { ...forward, enableUserWriteBlocking: true });
    assert.equal(again.body['error'], 'InvalidStateTransition');
    assert.match(String(again.body['errorDescription']), /the state is RUNNING/);
    for (const path of ['healthz', 'readyz'])
      assert.equal((await fetch(`${syncer.url}/${path}`)).status, 200, path);
    const metrics = await (await fetch(`${syncer.url}/metrics`)).text();
    assert.match(metrics, /^clustersync_syncer_failed 1$/m);
    assert.match(metrics, /^clustersync_syncer_errors_total\{error="OplogRolledOver"\} 1$/m);
    await hasStoredFailure(destination);
    assert.equal(await items.countDocuments(), 1);

    await syncer.kill('SIGTERM');
    await syncer.restart();
    await hasFailed(syncer);
    assert.equal(await items.countDocuments(), 1);
  });

  for (const isReadable of [true, false]) {
    const oplog = isReadable ? 'can be read' : 'cannot be read';
    it(`during the copy, where it ${oplog}: OplogRolledOver before a change is applied, and all is kept`, async () => {
      const { source, destination } = pair;
      await using user = await withUser(source, isReadable ? ['local'] : []);
      await using syncer = await pair.syncer({ cluster0: user.uri });
      {
        await using held = await holdCommands(destination, 'insert', 'shop.items');
        await syncer.start({ ...forward, enableUserWriteBlocking: true });
        await held.reached(1);
        await rollOver(source);
        // Nothing else reports it before the change stream is opened.
        if (isReadable) await hasFailed(syncer);
      }
      await hasFailed(syncer);
      await hasStoredFailure(destination);
      assert.equal(await destination.client.db('noise').collection('noise').countDocuments(), 0);

      await syncer.kill('SIGTERM');
      await syncer.restart();
      await hasFailed(syncer);
    });
  }

  it('of the new deployment since the commit: ReverseTooLate, and the sync stays COMMITTED', async function () {
    await skipUnlessReversible(this);
    await using syncer = await pair.syncing({ enableUserWriteBlocking: true, reversible: true });
    await commitAndWait(syncer);
    await rollOver(pair.destination);
    const { status, body } = await syncer.post('reverse', {});
    assert.equal(body['error'], 'ReverseTooLate', JSON.stringify(body));
    assert.equal(status, 409);
    assert.match(String(body['errorDescription']), /cluster1/);
    assert.equal((await syncer.progress()).state, 'COMMITTED');
  });
});

/** The failure says where users cannot write. */
async function hasFailed(syncer: SyncerProcess): Promise<void> {
  await until('the failure', async () => {
    const { status, body } = await syncer.getProgress();
    if (status === 200) return false;
    assert.match(String(body['error']), /^OplogRolledOver: .*blocked on cluster1$/);
    return true;
  });
  assert.match(await syncer.log(), /"msg":"the sync has stopped"/);
}

/** The failure is reported before it is stored. */
async function hasStoredFailure({ client }: Side): Promise<void> {
  const sync = client
    .db('clustersync_internal')
    .collection<{ readonly state: string; readonly failure?: { readonly name: string } }>('sync');
  await until('the failure is stored', async () => {
    const stored = await sync.findOne();
    assert.equal(stored?.state, 'RUNNING');
    return stored.failure?.name === 'OplogRolledOver';
  });
}
