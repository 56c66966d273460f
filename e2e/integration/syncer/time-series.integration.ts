import assert from 'node:assert/strict';
import {
  commitAndWait,
  restartAndCommit,
  forward,
  namespacesOf,
  optionsOf,
  useClusterPair,
} from './cluster-pair.ts';
import { canBeSlow, slowCommands } from './slow-commands.ts';

const timeseries = { timeField: 'at', metaField: 'of' } as const;

describe('time-series collections', () => {
  const pair = useClusterPair({ parameters: canBeSlow });
  beforeEach(async () => {
    await pair.reset();
  });

  it('are refused by name before anything is written', async () => {
    const db = pair.source.client.db('data');
    await db.command({ create: 'measured', timeseries });
    await db.collection('measured').insertOne({ at: new Date(), of: 'x' });
    await using syncer = await pair.syncer();
    const { status, body } = await syncer.post('start', forward);
    assert.deepEqual([status, body['error']], [400, 'TimeSeriesNotSupported']);
    assert.match(String(body['errorDescription']), /data\.measured/);
    const { databases } = await pair.destination.client.db('admin').admin().listDatabases();
    const names = databases.map(({ name }) => name);
    assert.deepEqual(
      names.filter((name) => name === 'data' || name.startsWith('clustersync')),
      [],
    );
  });

  it('are left alone where they are excluded, also when they are made during the sync', async () => {
    const db = pair.source.client.db('data');
    await db.command({ create: 'measured before', timeseries });
    await db.collection('rows').insertOne({ n: 1 });
    const collectionsRegex = { pattern: '^measured' };
    const excludeNamespaces = [{ database: 'data', collectionsRegex }];
    await using syncer = await pair.syncing({ excludeNamespaces });
    await db.command({ create: 'measured', timeseries });
    await db.collection('measured').insertOne({ at: new Date(), of: 'x' });
    await db.command({ collMod: 'measured', expireAfterSeconds: 3600 });
    await db.collection('rows').insertOne({ n: 2 });
    await commitAndWait(syncer);
    assert.deepEqual(await namespacesOf(pair.destination), ['data.rows']);
  });

  it('made after the checks of the start, before the catalog is read: an error with their name', async () => {
    const db = pair.source.client.db('data');
    await db.collection('rows').insertOne({ n: 1 });
    await using syncer = await pair.syncer();
    const recording = 'clustersync_internal.sync';
    await using slow = await slowCommands(pair.destination, ['update'], 6_000, recording);
    const started = syncer.start(forward);
    await slow.reached(1);
    await db.command({ create: 'measured', timeseries });
    await slow[Symbol.asyncDispose]();
    await started;
    await assert.rejects(
      syncer.waitFor(({ state }) => state === 'COMMITTED'),
      /TimeSeriesNotSupported.*data\.measured/,
    );
    await db.dropCollection('measured');
    await restartAndCommit(syncer);
    await pair.assertEqual();
  });

  it('made during the sync stop it under their name; it continues when they are dropped', async () => {
    const db = pair.source.client.db('data');
    await db.collection('rows').insertOne({ n: 1 });
    await using syncer = await pair.syncing();
    await db.command({ create: 'measured', timeseries });
    await db.collection('measured').insertOne({ at: new Date(), of: 'x' });
    await db.collection('rows').insertOne({ n: 2 });
    await assert.rejects(
      syncer.waitFor(({ state }) => state === 'COMMITTED'),
      /TimeSeriesNotSupported.*data\.measured/,
    );
    await db.dropCollection('measured');
    await db.command({ create: 'measured', viewOn: 'rows', pipeline: [] });
    await restartAndCommit(syncer);
    assert.ok(await optionsOf(pair.destination, 'data', 'measured'));
    await pair.assertEqual();
  });

  it('a view on a system collection is none', async () => {
    const db = pair.source.client.db('data');
    await using syncer = await pair.syncing();
    await db.command({ create: 'profile', viewOn: 'system.profile', pipeline: [] });
    await commitAndWait(syncer);
    await pair.assertEqual();
  });
});
