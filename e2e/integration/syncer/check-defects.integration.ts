import assert from 'node:assert/strict';
import { MongoClient } from 'mongodb';
import type { CheckAnswer, CheckFinding } from '../../../sync-api/json.ts';
import { startReplicaSet } from '../../ground/mongod/replica-set.ts';
import { startSyncerProcess } from '../../ground/syncer-process.ts';
import { until } from '../../ground/until.ts';
import { forward, type Side } from './cluster-pair.ts';
import { planted, plantOnDestination, plantOnSource, startBody } from './planted-defects.ts';

/** In the words of `planted`. */
function inWords({ severity, name, side, namespaces }: CheckFinding): string {
  const of = side === undefined ? '' : ` of ${side}`;
  return `${severity} ${name}${of}${namespaces ? `: ${namespaces.join(', ')}` : ''}`;
}

describe('POST /check, with many defects at once', function () {
  this.timeout(240_000);
  const sides: Side[] = [];

  before(async () => {
    const parameters = { transactionLifetimeLimitSeconds: 3600 };
    const sets = await Promise.all([
      startReplicaSet({ members: 3, name: 'source', parameters }),
      startReplicaSet({ members: 1, name: 'destination' }),
    ]);
    for (const set of sets) sides.push({ set, client: new MongoClient(set.uri('admin')) });
  });

  after(async () => {
    for (const { set, client } of sides) {
      await client.close();
      await set.stop();
    }
  });

  it('names all of them in one answer, each with what to do, and no other', async () => {
    const [source, destination] = sides;
    assert.ok(source && destination);
    await using plantedSource = await plantOnSource(source);
    const cluster1 = await plantOnDestination(destination);
    await using syncer = await startSyncerProcess({ cluster0: plantedSource.uri, cluster1 });
    let found: CheckAnswer | undefined;
    await until('the transaction has been open for long', async () => {
      const { status, body } = await syncer.post('check', { ...forward, ...startBody });
      assert.equal(status, 200, JSON.stringify(body));
      found = body as unknown as CheckAnswer;
      return found.findings.some(({ name }) => name === 'LongTransaction');
    });
    assert.ok(found);
    assert.equal(found.canStart, false);
    assert.deepEqual(found.findings.map(inWords), await planted());
    assert.ok(found.findings.length >= 25);
    for (const { message, action } of found.findings) {
      assert.match(action, /^[A-Z]/);
      assert.doesNotMatch(message, /secret/);
    }
  });
});
