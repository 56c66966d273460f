import assert from 'node:assert/strict';
import type { Member } from '../../ground/mongod/replica-set.ts';
import type { SyncerProcess } from '../../ground/syncer-process.ts';
import { until } from '../../ground/until.ts';
import { commitAndWait, forward, useClusterPair } from './cluster-pair.ts';

describe('a process that has just been started', () => {
  const pair = useClusterPair();
  let member: Member;
  let syncer: SyncerProcess;

  beforeEach(async () => {
    await pair.reset();
    await pair.source.client.db('shop').collection('items').insertOne({});
    member = await pair.source.set.primary();
    syncer = await pair.syncer({ until: 'listening' });
    await until('it is ready', async () => (await syncer.getProgress()).status === 200);
  });
  afterEach(async () => {
    await pair.source.set.kill(member, 'SIGCONT');
    await syncer[Symbol.asyncDispose]();
  });

  async function restartBeforeFrozenSource(): Promise<void> {
    await syncer.kill();
    await pair.source.set.kill(member, 'SIGSTOP');
    await syncer.restart();
  }

  it('lets commands of each kind wait until it has read the stored state', async () => {
    for (const [command, body] of [
      ['preflight', forward],
      ['start', forward],
      ['resume', {}],
      ['reset', {}],
    ] as const) {
      await restartBeforeFrozenSource();
      const answer = syncer.post(command, body);
      const { status, body: progress } = await syncer.getProgress();
      assert.equal(status, 503);
      assert.match(String(progress['error']), /^NotStarted: /);
      await pair.source.set.kill(member, 'SIGCONT');
      assert.deepEqual(await answer, { status: 200, body: { success: true } });
      if (command === 'preflight') continue;
      if (command === 'reset') {
        await syncer.waitFor(({ state }) => state === 'IDLE');
        continue;
      }
      await syncer.waitFor(({ canCommit }) => canCommit);
      if (command === 'start') await syncer.post('pause', {});
    }
  });

  it('answers every command with 503 and Retry-After where that takes longer', async () => {
    await restartBeforeFrozenSource();
    const answers = await Promise.all(
      ['start', 'preflight', 'pause', 'resume', 'commit', 'reverse', 'reset'].map(
        async (command) => {
          const { status, headers, body } = await fetch(`${syncer.url}/api/v1/${command}`, {
            method: 'POST',
            headers: { 'Content-Type': 'application/json' },
            body: JSON.stringify(command === 'start' || command === 'preflight' ? forward : {}),
          });
          await body?.cancel();
          return { command, status, isToldWhen: Number(headers.get('Retry-After')) > 0 };
        },
      ),
    );
    assert.equal(answers.length, 7);
    for (const { command, status, isToldWhen } of answers)
      assert.deepEqual({ status, isToldWhen }, { status: 503, isToldWhen: true }, command);
  });

  it('names a stored record that lacks a field, and continues once the field is back', async () => {
    await syncer.start(forward);
    await syncer.waitFor(({ canCommit }) => canCommit);
    await syncer.kill();
    const records = pair.destination.client.db('clustersync_internal').collection('sync');
    const record = await records.findOne();
    const options: unknown = record?.['options'];
    assert.ok(record && options !== undefined);
    const { _id } = record;
    await records.updateOne({ _id }, { $unset: { options: '' } });
    await syncer.restart();
    const answered = async (): Promise<string> => {
      const { status, body } = await syncer.getProgress();
      return `${status} ${String(body['error'])}`;
    };
    await until(
      'it names the record',
      async () => !(await answered()).startsWith('503 NotStarted: '),
    );
    assert.match(await answered(), /^503 StoredStateInvalid: .*options/);
    const { status, body } = await syncer.post('pause', {});
    assert.deepEqual([status, body['error']], [503, 'StoredStateInvalid']);
    await records.updateOne({ _id }, { $set: { options } });
    await until('it continues', async () => (await answered()).startsWith('200 '));
    assert.equal((await syncer.waitFor(({ canCommit }) => canCommit)).state, 'RUNNING');
    await commitAndWait(syncer);
    await pair.assertEqual();
  });

  it('logs once why a sync has failed, however often it answers with it', async () => {
    await syncer.start(forward);
    await syncer.waitFor(({ canCommit }) => canCommit);
    await syncer.kill();
    await pair.source.client
      .db('shop')
      .createCollection('ticks', { timeseries: { timeField: 'at' } });
    const before = (await syncer.log()).length;
    await syncer.restart();
    await until('the sync has failed', async () => (await syncer.getProgress()).status === 400);
    for (let times = 0; times < 3; times++) {
      const { body } = await syncer.getProgress();
      assert.match(String(body['error']), /^TimeSeriesNotSupported: /);
      assert.equal((await syncer.post('pause', {})).status, 400);
    }
    const lines = (await syncer.log()).slice(before).split('\n');
    const errors = lines.filter((line) => line.includes('"level":"error"'));
    assert.equal(errors.length, 1, errors.join('\n'));
    assert.match(errors[0] ?? '', /the sync has stopped/);
  });
});
