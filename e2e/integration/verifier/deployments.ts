import assert from 'node:assert/strict';
import { MongoClient, type Document, type IndexDescription } from 'mongodb';
import type { MismatchView } from '../../../verifier/compare/mismatch.ts';
import type { VerifierOptions } from '../../../verifier/options.ts';
import { testPassword } from '../../ground/mongod/users.ts';
import { startReplicaSet, type ReplicaSet } from '../../ground/mongod/replica-set.ts';
import {
  collectionOf,
  useShardedCluster,
  type ShardedGround,
} from '../../ground/sharded/use-sharded-cluster.ts';
import { verifyOnce } from './verifier-session.ts';

/** A replica set or a sharded cluster under verification. */
export interface Deployment {
  /** A client that may do everything. */
  readonly client: MongoClient;
  /** A connection string of the user `syncer`. */
  readonly uri: string;
  /** One of a user who may write the metadata store. */
  readonly metaURI: string;
}

/** A sharded cluster under verification. */
export interface ShardedDeployment extends Deployment {
  readonly ground: ShardedGround;
}

/** More than one batch of the verifier. */
export const rowCount = 6000;

/** Documents whose `_id`s are of two types, and whose `region` says on which shard they are. */
export const rows: readonly Document[] = Array.from({ length: rowCount }, (_, n) => ({
  _id: n % 3 === 0 ? String(n) : n,
  region: n % 10,
  text: `row ${n}`,
}));

const letters = ['b', 'A', 'c', 'D', 'x', 'Y'];

const clustered = { clusteredIndex: { key: { _id: 1 }, unique: true } };

const folding = { locale: 'en', strength: 2 };

/** Indexes of many kinds; none is fit for the shard key `region`. */
export const indexes: readonly IndexDescription[] = [
  { key: { text: 1 }, name: 'by_text' },
  { key: { at: 1 }, name: 'ttl', expireAfterSeconds: 3600 },
  { key: { text: 'text' }, name: 'words', default_language: 'german', weights: { text: 3 } },
  { key: { place: '2dsphere' }, name: 'near' },
  { key: { 'deep.$**': 1 }, name: 'wild' },
  { key: { n: -1 }, name: 'part', partialFilterExpression: { n: { $gt: 1 } }, hidden: true },
  { key: { region: 1, n: 1 }, name: 'sparse', sparse: true },
  { key: { region: 1, name: 1 }, name: 'folded', collation: folding },
];

/** Three deployments that hold the same data, for the tests of a suite. */
export interface Deployments {
  readonly set: Deployment;
  /** Of two shards and two routers. */
  readonly wide: ShardedDeployment;
  /** Of one shard. */
  readonly single: ShardedDeployment;
}

/** To be called in `describe`, used in hooks and tests. */
export function useDeployments(): Deployments {
  const grounds = {
    wide: useShardedCluster({ shards: 2, name: 'wide', routers: 2, syncerRoles: 'destination' }),
    single: useShardedCluster({ shards: 1, name: 'single', syncerRoles: 'source' }),
  };
  let started: { readonly set: ReplicaSet; readonly client: MongoClient } | undefined;
  const sharded = (ground: ShardedGround): ShardedDeployment => {
    const { client, cluster } = ground;
    return { ground, client, uri: cluster.uri('syncer'), metaURI: cluster.uri('admin') };
  };
  const deployments: Deployments = {
    get set() {
      if (!started) throw new Error('the deployments are started by the hooks of their suite');
      const { client, set } = started;
      return { client, uri: set.uri('syncer'), metaURI: set.uri('admin') };
    },
    get wide() {
      return sharded(grounds.wide);
    },
    get single() {
      return sharded(grounds.single);
    },
  };
  before(async () => {
    const set = await startReplicaSet({ members: 1, name: 'set' });
    started = { set, client: new MongoClient(set.uri('admin')) };
    for (const { ground } of [deployments.wide, deployments.single]) await shard(ground);
    const { set: one, wide, single } = deployments;
    await Promise.all([one, wide, single].map(load));
  });
  after(async () => {
    await started?.client.close();
    await started?.set.stop();
  });
  return deployments;
}

/** Shards collections, over both shards where there are two. */
async function shard(ground: ShardedGround): Promise<void> {
  const [first, last = first] = ground.cluster.shards;
  await ground.admin({ enableSharding: 'shop', primaryShard: first });
  await ground.admin({ enableSharding: 'depot', primaryShard: last });
  await ground.admin({ shardCollection: 'shop.rows', key: { region: 1 } });
  await ground.admin({ shardCollection: 'shop.hashed', key: { _id: 'hashed' } });
  await ground.client.db('shop').createCollection('folded', { collation: folding });
  await ground.client.db('shop').createCollection('clustered', clustered);
  await ground.admin({ shardCollection: 'shop.clustered', key: { region: 1 } });
  const collation = { locale: 'simple' };
  await ground.admin({ shardCollection: 'shop.folded', key: { k: 1 }, collation });
  if (last === first) return;
  await ground.admin({ split: 'shop.rows', middle: { region: 5 } });
  await ground.admin({ moveChunk: 'shop.rows', find: { region: 5 }, to: last });
  await ground.admin({ split: 'shop.clustered', middle: { region: 5 } });
  await ground.admin({ moveChunk: 'shop.clustered', find: { region: 5 }, to: last });
  await ground.admin({ split: 'shop.folded', middle: { k: 'b' } });
  await ground.admin({ moveChunk: 'shop.folded', find: { k: 'b' }, to: last });
}

async function load({ client }: Deployment): Promise<void> {
  const shop = client.db('shop');
  await shop.collection('rows').insertMany([...rows]);
  await shop.collection('rows').createIndexes([...indexes]);
  await shop.collection('hashed').insertMany(rows.slice(0, 100));
  const isThere = (await shop.listCollections({ name: 'folded' }).toArray()).length > 0;
  if (!isThere) await shop.createCollection('folded', { collation: folding });
  if (!isThere) await shop.createCollection('clustered', clustered);
  await shop.collection('clustered').insertMany(rows.slice(0, 100));
  await collectionOf(client, 'shop.folded').insertMany(letters.map((k) => ({ _id: k, k })));
  await shop.createCollection('few', { viewOn: 'rows', pipeline: [{ $match: { region: 1 } }] });
  const depot = client.db('depot');
  await depot.createCollection('log', { capped: true, size: 4096, max: 100 });
  for (const _id of [3, 1, 2]) await collectionOf(client, 'depot.log').insertOne({ _id });
  await depot.createCollection('clustered', clustered);
  await depot.collection('clustered').insertMany(rows.slice(0, 10));
  await depot.createCollection('folded', { collation: folding });
  await collectionOf(client, 'depot.folded').insertMany(letters.map((_id) => ({ _id })));
  await depot.createCollection('strict', { validator: { n: { $gt: 1 } } });
  await depot.createCollection('all', { viewOn: 'log', pipeline: [] });
}

/** The connection string of a user with these roles, who is created. */
export async function uriOfUser(
  { client, uri }: Deployment,
  user: string,
  roles: readonly string[],
): Promise<string> {
  await client.db('admin').command({ createUser: user, pwd: testPassword, roles });
  return uri.replace('//syncer:', `//${user}:`);
}

/** The options that tell a verifier of its two sides. */
export function urisOf(
  source: Pick<Deployment, 'uri'>,
  { uri, metaURI }: Pick<Deployment, 'uri' | 'metaURI'>,
): { readonly srcURI: string; readonly destURI: string; readonly metaURI: string } {
  return { srcURI: source.uri, destURI: uri, metaURI };
}

/** Rejects unless a verification finds two deployments equal. */
export async function assertEqual(
  source: Pick<Deployment, 'uri'>,
  destination: Pick<Deployment, 'uri' | 'metaURI'>,
  comparison: VerifierOptions['comparison'] = 'bytes',
): Promise<void> {
  const { progress } = await verifyOnce({ ...urisOf(source, destination), comparison });
  assert.deepEqual(progress.mismatches, []);
  assert.equal(progress.verdict, 'equal');
  const { documentsCompared, documentsHashed } = progress.proof ?? {};
  assert.equal(documentsHashed, comparison === 'hashes' ? documentsCompared?.source : 0);
  assert.ok(progress.documentsCompared > rowCount);
}

/** What a verification finds after a change, by bytes as by hashes, in an order of its own. The change is undone then. */
export async function found(
  [source, destination]: readonly [Deployment, Deployment],
  change: () => Promise<unknown>,
  undo: () => Promise<unknown>,
): Promise<readonly MismatchView[]> {
  await change();
  try {
    const uris = urisOf(source, destination);
    const { progress } = await verifyOnce(uris);
    assert.equal(progress.verdict, 'different');
    const byHashes = await verifyOnce({ ...uris, comparison: 'hashes' });
    assert.deepEqual(byHashes.progress.mismatches, progress.mismatches);
    const text = ({ namespace, kind, id, index }: MismatchView): string =>
      [namespace, kind, id ?? index ?? ''].join(' ');
    return progress.mismatches.toSorted((one, other) => (text(one) < text(other) ? -1 : 1));
  } finally {
    await undo();
  }
}
