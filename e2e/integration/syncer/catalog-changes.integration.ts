import assert from 'node:assert/strict';
import type { Db, MongoClient } from 'mongodb';
import { findDifferences, type Difference } from '../../ground/compare.ts';
import { catalogChanges as cases } from './catalog-change-cases.ts';
import { commitAndWait, namespacesOf, useClusterPair } from './cluster-pair.ts';

describe('change event application: the catalog', () => {
  const pair = useClusterPair();
  const differences = new Map<string, readonly Difference[]>();

  before(async () => {
    await pair.reset();
    const databases = Object.keys(cases).flatMap((_, index) => databasesOf(index));
    const { client } = pair.source;
    for (const [index, { before: prepare }] of Object.values(cases).entries())
      await prepare?.(...dbsOf(client, index));
    await using syncer = await pair.syncing();
    for (const [index, { change }] of Object.values(cases).entries())
      await change(...dbsOf(client, index));
    await commitAndWait(syncer);
    for (const [index, name] of Object.keys(cases).entries()) {
      const own = databasesOf(index);
      const found = await findDifferences(
        pair.source.set.uri('admin'),
        pair.destination.set.uri('admin'),
        { exclude: databases.filter((database) => !own.includes(database)) },
      );
      differences.set(name, found);
    }
  });

  for (const name of Object.keys(cases)) {
    it(name, () => {
      assert.deepEqual(differences.get(name), []);
    });
  }
});

describe('change event application: what cannot be followed', () => {
  const pair = useClusterPair();
  beforeEach(async () => {
    await pair.reset();
  });

  it('a time-series collection created during the sync: TimeSeriesNotSupported', async () => {
    await using syncer = await pair.syncing();
    await pair.source.client
      .db('data')
      .createCollection('ticks', { timeseries: { timeField: 't' } });
    await assert.rejects(
      syncer.waitFor(() => false),
      /"TimeSeriesNotSupported: [^"]*data\.ticks/,
    );
    const { status, body } = await syncer.getProgress();
    assert.equal(status, 400);
    assert.deepEqual(Object.keys(body), ['error']);
    assert.equal((await syncer.post('commit', {})).body['error'], 'TimeSeriesNotSupported');
    assert.ok(syncer.pid);
  });

  it('a time-series collection that is excluded is left alone', async () => {
    const data = pair.source.client.db('data');
    await data.createCollection('ticks', { timeseries: { timeField: 't' } });
    const excludeNamespaces = [{ database: 'data', collectionsRegex: { pattern: '^t' } }];
    await using syncer = await pair.syncing({ excludeNamespaces });
    await data.createCollection('tocks', { timeseries: { timeField: 't' } });
    await data.collection('ticks').insertOne({ t: new Date() });
    await data.collection('rows').insertOne({ n: 1 });
    await commitAndWait(syncer);
    assert.deepEqual(await namespacesOf(pair.destination), ['data.rows']);
  });
});

function databasesOf(index: number): [string, string] {
  return [`case_${index}`, `case_${index}_other`];
}

function dbsOf(client: MongoClient, index: number): [Db, Db] {
  const [first, second] = databasesOf(index);
  return [client.db(first), client.db(second)];
}
