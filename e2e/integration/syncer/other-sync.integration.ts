import assert from 'node:assert/strict';
import { deploymentDigest } from '../../../mongo/proven-hosts.ts';
import { askTopology } from '../../../mongo/topology.ts';
import { optionsDigest } from '../../../sync-api/options-digest.ts';
import {
  deploymentHeader,
  destinationHeader,
  optionsDigestHeader,
} from '../../../sync-api/headers.ts';
import type { Answer, SyncerProcess } from '../../ground/syncer-process.ts';
import { until } from '../../ground/until.ts';
import { commitAndWait, forward, restartAndCommit, useClusterPair } from './cluster-pair.ts';
import { skipUnlessReversible } from './skip-reversal.ts';

const commands = ['start', 'pause', 'resume', 'commit', 'reverse'] as const;

describe('a sync is known by the options that it was started with', () => {
  const pair = useClusterPair();
  beforeEach(async () => {
    await pair.reset();
    const shop = pair.source.client.db('shop');
    for (const name of ['apples', 'berries'])
      await shop.collection(name).insertMany(Array.from({ length: 100 }, (_, n) => ({ n })));
  });

  const filtered = {
    ...forward,
    includeNamespaces: [{ database: 'shop', collectionsRegex: { pattern: '^a' } }],
  };

  function refused({ status, body }: Answer, description: RegExp): void {
    assert.equal(body['error'], 'DifferentSync', JSON.stringify(body));
    assert.equal(status, 409);
    assert.equal(body['success'], false);
    assert.match(String(body['errorDescription']), description);
  }

  async function stateOf(syncer: SyncerProcess): Promise<object> {
    const { state, canCommit } = await syncer.progress();
    return { state, canCommit };
  }

  it('another start says what differs; the same start is refused for the state, as before', async () => {
    await using syncer = await pair.syncing(filtered);
    refused(
      await syncer.post('start', forward),
      /includeNamespaces was \[.*"pattern":"\^a".*\], and is not given here$/,
    );
    refused(
      await syncer.post('start', { ...filtered, buildIndexes: 'never', reversible: false }),
      /: buildIndexes was "beforeDataCopy", and is "never" here$/,
    );
    refused(await syncer.post('preflight', forward), /includeNamespaces was/);
    const same = await syncer.post('start', { ...filtered, buildIndexes: 'beforeDataCopy' });
    assert.equal(same.body['error'], 'InvalidStateTransition');
    assert.deepEqual((await syncer.post('preflight', filtered)).body, { success: true });
    assert.equal((await syncer.post('start', {})).body['error'], 'InvalidStateTransition');
    assert.deepEqual(await stateOf(syncer), { state: 'RUNNING', canCommit: true });
    await commitAndWait(syncer);
    refused(await syncer.post('start', forward), /includeNamespaces was/);
    const copies = pair.destination.client.db('shop');
    assert.equal(await copies.collection('apples').countDocuments(), 100);
    assert.equal(await copies.collection('berries').countDocuments(), 0);
  });

  it('each answer says where the process has logged in on the side of cluster1, also without a sync', async () => {
    const { members } = pair.destination.set;
    const expected = `mongodb://${members.map(({ address }) => address).join()}`;
    const digests = new Set<string | null>();
    const told = async (url: string): Promise<string | null> => {
      const { headers } = await fetch(`${url}/api/v1/progress`);
      if (headers.has(destinationHeader)) digests.add(headers.get(deploymentHeader));
      return headers.get(destinationHeader);
    };
    await using idle = await pair.syncer();
    await until('it is told', async () => (await told(idle.url)) === expected);
    await idle.kill();
    await using running = await pair.syncing(filtered);
    await until('it is told', async () => (await told(running.url)) === expected);
    const asker = { appName: 'test', refusesFiles: true };
    const uri = pair.destination.set.uri('syncer');
    const deployment = await askTopology({ uri }, asker, new AbortController().signal);
    assert.deepEqual([...digests], [deploymentDigest(deployment)]);
    assert.ok(!deploymentDigest(deployment).includes(deployment.clusterId));
  });

  it('a command for another sync is refused in every state, and changes nothing', async () => {
    await using syncer = await pair.syncer();
    const other = optionsDigest(forward);
    const own = optionsDigest(filtered);
    const refusesAll = async (): Promise<void> => {
      const before = await stateOf(syncer);
      for (const command of commands) {
        const body = command === 'start' ? filtered : {};
        refused(
          await syncer.post(command, body, { digest: other }),
          /for a sync with start options other/,
        );
      }
      assert.deepEqual(await stateOf(syncer), before);
    };
    const wrong = await syncer.post('start', filtered, { digest: other });
    assert.equal(wrong.body['error'], 'InvalidBody');
    assert.match(String(wrong.body['errorDescription']), /not the digest of this body/);
    assert.deepEqual(await stateOf(syncer), { state: 'IDLE', canCommit: false });
    const take = async (command: string, body: object = {}): Promise<void> => {
      assert.deepEqual((await syncer.post(command, body, { digest: own })).body, { success: true });
    };
    await take('start', filtered);
    await refusesAll();
    await syncer.waitFor(({ canCommit }) => canCommit);
    await refusesAll();
    await take('pause');
    await refusesAll();
    await take('resume');
    await syncer.waitFor(({ canCommit }) => canCommit);
    await take('commit');
    await syncer.waitFor(({ state }) => state === 'COMMITTED');
    await refusesAll();
  });

  it('its digest stays the same over a pause, a crash, the commit and a reversal', async function () {
    await skipUnlessReversible(this);
    const body = { ...filtered, reversible: true, enableUserWriteBlocking: true };
    const digest = optionsDigest(body);
    await using syncer = await pair.syncer();
    assert.equal((await syncer.progress()).optionsDigest, null);
    const isSame = async (): Promise<void> => {
      assert.equal((await syncer.progress()).optionsDigest, digest);
    };
    await syncer.start(body);
    await isSame();
    await syncer.waitFor(({ canCommit }) => canCommit);
    assert.equal((await syncer.post('pause', {})).status, 200);
    await isSame();
    await syncer.kill();
    await syncer.restart();
    await isSame();
    assert.equal((await syncer.post('resume', {})).status, 200);
    await syncer.waitFor(({ canCommit }) => canCommit);
    await commitAndWait(syncer);
    await isSame();
    assert.equal((await syncer.post('reverse', {}, { digest })).status, 200);
    const reversed = await syncer.waitFor(({ canCommit }) => canCommit);
    assert.match(reversed.directionMapping?.Source ?? '', /^cluster1/);
    await isSame();
    refused(await syncer.post('start', forward), /enableUserWriteBlocking was true/);
    assert.equal((await syncer.post('start', body)).body['error'], 'InvalidStateTransition');
    await restartAndCommit(syncer);
    await isSame();
  });

  it('one that has failed is told from another one, also by a new process', async () => {
    await using syncer = await pair.syncing(filtered);
    const { client } = pair.source;
    await client.db('shop').createCollection('a_times', { timeseries: { timeField: 't' } });
    for (const isNew of [false, true]) {
      if (isNew) {
        await syncer.kill();
        await syncer.restart();
      }
      await until('it has failed', async () => (await syncer.getProgress()).status !== 200);
      const answer = await fetch(`${syncer.url}/api/v1/progress`);
      assert.notEqual(answer.status, 200);
      assert.equal(answer.headers.get(optionsDigestHeader), optionsDigest(filtered));
      const reset = { destination: 'Clean' };
      refused(
        await syncer.post('reset', reset, { digest: optionsDigest(forward) }),
        /for a sync with start options other/,
      );
    }
  });

  it('a reset for another sync leaves it alone, also where the process was there before it and does not know it', async () => {
    await using before = await pair.syncer();
    assert.deepEqual(await stateOf(before), { state: 'IDLE', canCommit: false });
    await using syncer = await pair.syncing(filtered);
    assert.deepEqual(await stateOf(before), { state: 'IDLE', canCommit: false });
    const reset = { destination: 'Clean' };
    refused(
      await before.post('reset', reset, { digest: optionsDigest(forward) }),
      /for a sync with start options other/,
    );
    await commitAndWait(syncer);
    const apples = pair.destination.client.db('shop').collection('apples');
    assert.equal(await apples.countDocuments(), 100);
  });

  it('one from another source is not taken up, nor denied, until its state is gone', async () => {
    const stored = pair.destination.client.db('clustersync_internal').collection('sync');
    {
      await using syncer = await pair.syncing(filtered);
      await syncer.kill();
    }
    // As it would be if another deployment had been the source.
    await stored.updateOne({}, { $set: { 'source.clusterId': 'another' } });
    await using syncer = await pair.syncer({ until: 'listening' });
    await until('it says so', async () => {
      const { body } = await syncer.getProgress();
      return /^OtherSyncUnfinished: cluster1 holds .* cluster0 now points/.test(
        String(body['error']),
      );
    });
    for (const command of commands) {
      const { body } = await syncer.post(command, command === 'start' ? filtered : {});
      assert.equal(body['error'], 'OtherSyncUnfinished', JSON.stringify(body));
    }
    assert.equal(await stored.countDocuments(), 1);
    await pair.destination.client.db('shop').dropDatabase();
    await pair.destination.client.db('clustersync_internal').dropDatabase();
    await until('it is ready', async () => (await fetch(`${syncer.url}/readyz`)).ok);
    assert.deepEqual(await stateOf(syncer), { state: 'IDLE', canCommit: false });
    await syncer.start(filtered);
    await syncer.waitFor(({ canCommit }) => canCommit);
    await commitAndWait(syncer);
    assert.equal(
      await pair.destination.client.db('shop').collection('apples').countDocuments(),
      100,
    );
  });
});
