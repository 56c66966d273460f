import assert from 'node:assert/strict';
import { Timestamp, type Document } from 'mongodb';
import { forEachConcurrently } from '../../../service/concurrency.ts';
import { hidesAppliedOps } from '../../../mongo/oplog.ts';
import type { CheckAnswer, CheckFinding } from '../../../sync-api/json.ts';
import type { SyncerProcess } from '../../ground/syncer-process.ts';
import { forward, useClusterPair, type Side } from './cluster-pair.ts';
import { withUser } from './source-user.ts';

async function checked(syncer: SyncerProcess, body: object): Promise<CheckAnswer> {
  const answer = await syncer.post('check', { ...forward, ...body });
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  return answer.body as unknown as CheckAnswer;
}

/** `blocker MissingPrivileges source`. */
function told({ severity, name, side }: CheckFinding): string {
  return [severity, name, side ?? ''].join(' ').trim();
}

/** Everything in the oplog that is not a no-op of the server's own. */
async function writesOn({ client }: Pick<Side, 'client'>, since: Timestamp): Promise<Document[]> {
  return await client
    .db('local')
    .collection('oplog.rs')
    .find({ ts: { $gt: since }, op: { $ne: 'n' } })
    .toArray();
}

async function latestTime({ client }: Pick<Side, 'client'>): Promise<Timestamp> {
  const hello = await client.db('admin').command({ hello: 1 });
  return (hello['lastWrite'] as { opTime: { ts: Timestamp } }).opTime.ts;
}

describe('POST /check', () => {
  const pair = useClusterPair({ roles: { source: 'source', destination: 'destination' } });
  beforeEach(async () => {
    await pair.reset();
  });

  it('finds nothing on a clean pair, and writes nothing', async () => {
    const shop = pair.source.client.db('shop');
    await shop.collection('items').insertMany([{ n: 1 }, { n: 2 }]);
    const key = { n: 1 };
    await shop.collection('items').createIndexes([{ key, unique: true, expireAfterSeconds: 60 }]);
    await shop.createCollection('few', { viewOn: 'items', pipeline: [] });
    await shop.createCollection('log', { capped: true, size: 4096 });
    await using syncer = await pair.syncer();
    const sides = [pair.source, pair.destination];
    const before = await Promise.all(sides.map(latestTime));
    const includeNamespaces = [{ database: 'shop' }];
    for (const body of [{}, { includeNamespaces }])
      assert.deepEqual(await checked(syncer, body), {
        success: true,
        canStart: true,
        findings: [],
      });
    for (const [index, side] of sides.entries())
      assert.deepEqual(await writesOn(side, before[index] ?? new Timestamp(0n)), []);
    assert.equal((await syncer.progress()).state, 'IDLE');
  });

  it('takes some seconds for 1,000 collections', async () => {
    const many = pair.source.client.db('many');
    const names = Array.from({ length: 1_000 }, (_, index) => `rows${index}`);
    await forEachConcurrently(names, 8, async (name) => {
      await many.collection(name).createIndexes([{ key: { n: 1 } }]);
    });
    await using syncer = await pair.syncer();
    const startedMs = performance.now();
    assert.deepEqual((await checked(syncer, {})).findings, []);
    const seconds = (performance.now() - startedMs) / 1000;
    console.log(`    1,000 collections were checked in ${seconds.toFixed(1)} s`);
  });

  it('is refused by name once there is a sync, and for a body that no start accepts', async () => {
    await using syncer = await pair.syncer();
    const refused = async (body: object, status: number, name: string): Promise<void> => {
      const answer = await syncer.post('check', { ...forward, ...body });
      assert.deepEqual([answer.status, answer.body['error']], [status, name]);
    };
    await refused({ nothing: 1 }, 400, 'InvalidBody');
    await refused({ reversible: true }, 400, 'ReversibleNeedsWriteBlocking');
    await syncer.start(forward);
    await refused({}, 409, 'InvalidStateTransition');
    await syncer.waitFor(({ canCommit }) => canCommit);
    await using other = await pair.syncer({ options: { continues: 'none' } });
    assert.equal((await other.post('check', forward)).body['error'], 'InvalidStateTransition');
  });

  it('tells a pattern that cannot be evaluated once, and checks what does not depend on it', async () => {
    await using syncer = await pair.syncer({ cluster1: await asWriter() });
    const includeNamespaces = [{ database: 'a', collectionsRegex: { pattern: '(' } }];
    const { canStart, findings } = await checked(syncer, { includeNamespaces });
    assert.equal(canStart, false);
    const names = findings.map(told);
    assert.ok(names.includes('blocker MissingPrivileges destination'), names.join());
    assert.equal(names.filter((name) => name.includes('InvalidNamespaceFilter')).length, 1);
    assert.ok(!JSON.stringify(findings.slice(2)).includes('regular exp'), JSON.stringify(findings));
  });

  it('gives the command that grants what is missing', async () => {
    const admin = pair.destination.client.db('admin');
    await using syncer = await pair.syncer({ cluster1: await asWriter() });
    const [found, ...others] = (await checked(syncer, {})).findings.filter(
      ({ name }) => name === 'MissingPrivileges',
    );
    assert.deepEqual(others, []);
    const [, db, user, roles] =
      /getSiblingDB\("(\w+)"\)\.grantRolesToUser\("(\w+)", (\[.*\])\)$/.exec(found?.action ?? '') ??
      [];
    assert.deepEqual([db, user], ['admin', 'writer'], found?.action);
    await admin.command({ grantRolesToUser: user, roles: JSON.parse(roles ?? '') as Document[] });
    assert.deepEqual((await checked(syncer, {})).findings, []);
  });

  it('says what it may not look at, hides nothing else, and gives the command that allows it', async () => {
    const admin = pair.source.client.db('admin');
    const signal = AbortSignal.timeout(10_000);
    await using user = await withUser(pair.source, []);
    await using syncer = await pair.syncer({ cluster0: user.uri });
    const body = { excludeNamespaces: [{ database: 'misspelt' }] };
    const { canStart, findings } = await checked(syncer, body);
    assert.equal(canStart, true);
    const others = findings.filter(({ name }) => name !== 'NotChecked');
    assert.deepEqual(others.map(told), ['warning FilterMatchesNothing']);
    const unchecked = findings.filter(({ name }) => name === 'NotChecked');
    assert.deepEqual(
      unchecked.map(({ message }) => message),
      [
        ...((await hidesAppliedOps({ admin }, signal))
          ? [
              'writes by applyOps could not be checked: not authorized on local to execute command find',
            ]
          : []),
        'the members of the source could not be checked: not authorized on admin to execute command replSetGetStatus',
        'open transactions could not be checked: not authorized on admin to execute command aggregate',
        'users and roles could not be checked: not authorized on admin to execute command find',
      ],
    );
    for (const { action } of unchecked) {
      const [, roles] = /grantRolesToUser\("bare", (\[.*\])\)$/.exec(action) ?? [];
      await admin.command({
        grantRolesToUser: 'bare',
        roles: JSON.parse(roles ?? '') as Document[],
      });
    }
    assert.deepEqual((await checked(syncer, body)).findings.map(told), [
      'warning FilterMatchesNothing',
      // The user itself, and its role.
      'advice UsersNotCopied source',
      'advice RolesNotCopied source',
    ]);
  });

  /** A user of the destination who lacks something. */
  async function asWriter(): Promise<string> {
    const admin = pair.destination.client.db('admin');
    const roles = ['readWriteAnyDatabase', 'clusterMonitor'];
    await admin.command({ dropUser: 'writer' }).catch(() => undefined);
    await admin.command({ createUser: 'writer', pwd: 'secret', roles });
    return pair.destination.set.uri('syncer').replace(/\/\/.*@/, '//writer:secret@');
  }
});
