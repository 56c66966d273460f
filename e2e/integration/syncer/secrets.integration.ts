import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { testPassword } from '../../ground/mongod/users.ts';
import { until } from '../../ground/until.ts';
import { commitAndWait, forward, useClusterPair } from './cluster-pair.ts';

const secrets = [testPassword, encodeURIComponent(testPassword), encodeURI(testPassword)];

function assertNoSecrets(text: string, where: string): void {
  for (const secret of secrets) assert.ok(!text.includes(secret), `a password in ${where}`);
  assert.doesNotMatch(text, /:\/\/[^@\s"/]*:[^@\s"/]*@/, `user information in ${where}`);
}

describe('contract 5: connection strings', () => {
  const pair = useClusterPair();
  beforeEach(async () => {
    await pair.reset();
  });

  it('are not in logs, answers, metrics, arguments or the stored state of a sync', async () => {
    await pair.source.client.db('shop').collection('items').insertOne({ n: 1 });
    await using syncer = await pair.syncer({ options: { logLevel: 'trace' } });
    const answers: unknown[] = [
      await syncer.post('start', { source: pair.source.set.uri('syncer') }),
    ];
    await syncer.start(forward);
    await syncer.waitFor(({ canCommit }) => canCommit);
    const commandLine = await readFile(`/proc/${syncer.pid ?? 0}/cmdline`, 'utf8');
    const environment = await readFile(`/proc/${syncer.pid ?? 0}/environ`, 'utf8');
    await commitAndWait(syncer);
    answers.push(await syncer.getProgress());
    const metrics = await (await fetch(`${syncer.url}/metrics`)).text();
    const stored: unknown[] = [];
    const internal = pair.destination.client.db('clustersync_internal');
    for (const { name } of await internal.listCollections().toArray())
      stored.push(await internal.collection(name).find().toArray());
    assert.match(commandLine, /syncer/);
    assertNoSecrets(commandLine, 'the arguments');
    assertNoSecrets(environment, 'the environment');
    assertNoSecrets(JSON.stringify(answers), 'an answer');
    assertNoSecrets(metrics, 'the metrics');
    assertNoSecrets(JSON.stringify(stored), 'the stored state');
    assertNoSecrets(await syncer.log(), 'the log');
  });

  for (const option of ['cluster0', 'cluster1'] as const) {
    it(`with a wrong password for ${option}: progress says so, the process stays alive`, async () => {
      const side = option === 'cluster0' ? pair.source : pair.destination;
      const wrong = side.set
        .uri('syncer')
        .replace(encodeURIComponent(testPassword), 'wr0ng-s3cret');
      await using syncer = await pair.syncer({ [option]: wrong, until: 'listening' });
      await until('the answer', async () => {
        const { body } = await syncer.getProgress();
        return String(body['error']).startsWith('AuthenticationFailed');
      });
      const { status, body } = await syncer.getProgress();
      assert.equal(status, 502);
      assert.deepEqual(Object.keys(body), ['error']);
      assert.match(String(body['error']), /^AuthenticationFailed: /);
      for (const [command, request] of [
        ['start', forward],
        ['commit', {}],
      ] as const) {
        const answer = await syncer.post(command, request);
        assert.equal(answer.status, 502);
        assert.equal(answer.body['error'], 'AuthenticationFailed');
      }
      assert.equal((await fetch(`${syncer.url}/healthz`)).status, 200);
      assert.equal((await fetch(`${syncer.url}/readyz`)).status, 503);
      assert.ok(syncer.pid);
      const log = await syncer.log();
      assert.ok(!log.includes('wr0ng-s3cret'));
      assertNoSecrets(log, 'the log');
    });
  }

  it('to servers that are unreachable: progress says so, and the sync continues once they are back', async () => {
    const [member] = pair.source.set.members;
    assert.ok(member);
    await pair.source.set.kill(member);
    await using syncer = await pair.syncer({ until: 'listening' });
    await until('the answer', async () => {
      const { body } = await syncer.getProgress();
      return String(body['error']).startsWith('ClusterUnreachable');
    });
    const { status, body } = await syncer.getProgress();
    assert.equal(status, 503);
    assertNoSecrets(JSON.stringify(body), 'an answer');
    assert.equal((await syncer.post('start', forward)).body['error'], 'ClusterUnreachable');
    await pair.source.set.restart(member);
    await until('IDLE', async () => (await syncer.getProgress()).status === 200);
    await syncer.start(forward);
    await syncer.waitFor(({ canCommit }) => canCommit);
    assertNoSecrets(await syncer.log(), 'the log');
  });
});
