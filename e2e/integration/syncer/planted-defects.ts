import type { ClientSession, Db, MongoClient } from 'mongodb';
import { hasFeature } from '../../../mongo/server-features.ts';
import { mongodRelease } from '../../ground/mongod/mongod-process.ts';
import type { ReplicaSet } from '../../ground/mongod/replica-set.ts';
import { until } from '../../ground/until.ts';
import type { Side } from './cluster-pair.ts';
import { featureVersionsOf, setFeatureVersion } from './feature-versions.ts';
import { otherSync } from './other-sync.ts';
import { raw, RawText, rawValue } from './raw-documents.ts';
import { isReversiblePair } from './skip-reversal.ts';

/** A name that is not UTF-8. */
const odd = new RawText(0x78, 0xff);

/** Of all options, those with which most can be wrong. */
export const startBody = {
  enableUserWriteBlocking: true,
  reversible: true,
  excludeNamespaces: [
    { database: 'skipped' },
    { database: 'case' },
    { database: 'shop', collections: ['hidden'] },
    { database: 'misspelt' },
  ],
  sharding: {
    shardingEntries: ['items', 'unique', 'view', 'capped', 'many'].map((collection) => ({
      database: 'shop',
      collection,
      shardCollection: { key: [{ k: 1 }] },
    })),
  },
} as const;

/** Whether the source's server can have a featureCompatibilityVersion that no sync works with. */
async function canBeTooOld(): Promise<boolean> {
  return (await featureVersionsOf('source')).older === '5.0';
}

/** Whether the source's change streams do not show what `applyOps` writes: only then it is in the way. */
async function hidesApplyOps(): Promise<boolean> {
  return !hasFeature(await mongodRelease('source'), 'appliedOpsInChangeStreams');
}

/**
 * What {@link plantOnSource} and {@link plantOnDestination} plant, and nothing else, by severity, name, side and namespaces; and
 * what the servers themselves have against {@link startBody}.
 */
export const planted = async (): Promise<readonly string[]> => [
  'blocker OtherSyncUnfinished of destination',
  'blocker ShardingNotAllowed',
  ...((await isReversiblePair()) ? [] : ['blocker ReversibleNotSupported']),
  'blocker MissingPrivileges of source',
  'blocker MissingPrivileges of destination',
  ...((await canBeTooOld()) ? ['blocker FeatureVersionNotSupported of source'] : []),
  'blocker TimeSeriesNotSupported of source: metrics.ticks',
  'blocker NameNotSupported of source: data.x\u{fffd}',
  'blocker ShardKeyIndexMissing of source: shop.items',
  'blocker IncompatibleUniqueIndex of source: shop.unique',
  'blocker InvalidShardKey of source: shop.view',
  'blocker InvalidShardKey of source: shop.capped',
  'blocker ShardKeyIndexMissing of source: shop.many',
  'blocker DestinationNotEmpty of destination: shop.there',
  'blocker OtherSyncUnfinished of source',
  'warning IndexNameNotSupported of source: data.rows',
  'warning ShardKeyHasArrays of source: shop.items',
  'warning TooManyIndexes of source: shop.many',
  'warning DatabaseDiffersInCase of destination',
  ...((await hidesApplyOps()) ? ['warning ApplyOpsSeen of source: shop.items'] : []),
  'warning OtherDataBlocked of source: shop.hidden, skipped.rows',
  'warning OtherDataBlocked of destination: case.rows',
  'warning WritesAlreadyBlocked of destination',
  'warning MemberUnhealthy of source',
  'warning FilterMatchesNothing',
  'warning ViewWithoutCollection of source: shop.outside',
  'advice LongTransaction of source',
  'advice UsersNotCopied of source',
  'advice RolesNotCopied of source',
  'advice StoredJavaScriptNotCopied of source: shop.system.js',
];

/** A source with defects, and the transaction that is one of them. */
export interface PlantedSource extends AsyncDisposable {
  /** The connection string of a user who lacks privileges. */
  readonly uri: string;
}

/** @param set - of three members, whose transactions may stay open for long. */
export async function plantOnSource({ set, client }: Side): Promise<PlantedSource> {
  const admin = client.db('admin');
  const shop = client.db('shop');
  await client.db('metrics').createCollection('ticks', { timeseries: { timeField: 't' } });
  await plantOddNames(client.db('data'));
  await plantShards(shop);
  await client.db('skipped').collection('rows').insertOne({});
  await client.db('Case').collection('rows').insertOne({});
  const operations = ['a', 'b'].map((_id) => ({ op: 'i', ns: 'shop.items', o: { _id } }));
  await admin.command({ applyOps: operations });
  await shop.collection<{ _id: string }>('system.js').insertOne({ _id: 'one' });
  await admin.command({ createRole: 'clerks', roles: ['read'], privileges: [] });
  await admin.command({ createUser: 'clerk', pwd: 'secret', roles: ['clerks'] });
  const roles = ['backup', 'clusterMonitor', 'readAnyDatabase'];
  await admin.command({ createUser: 'reader', pwd: 'secret', roles });
  await storeOtherSync(client, 'cluster0');
  if (await canBeTooOld()) await setFeatureVersion(client, '5.0');
  const session = await openTransaction(client);
  await killSecondary(set, client);
  return {
    uri: asUser(set, 'reader'),
    async [Symbol.asyncDispose]() {
      await session.abortTransaction();
      await session.endSession();
    },
  };
}

/** @returns the connection string of a user who lacks privileges. */
export async function plantOnDestination({ set, client }: Side): Promise<string> {
  const admin = client.db('admin');
  await client.db('shop').collection('there').insertOne({});
  await client.db('case').collection('rows').insertOne({});
  const roles = ['readWriteAnyDatabase', 'clusterMonitor', 'backup'];
  await admin.command({ createUser: 'writer', pwd: 'secret', roles });
  await storeOtherSync(client, 'cluster1');
  await admin.command({ setUserWriteBlockMode: 1, global: true });
  return asUser(set, 'writer');
}

async function plantOddNames(data: Db): Promise<void> {
  await data.collection('rows').insertOne({ n: 1 });
  const index = raw(['key', raw(['n', 1])], ['name', odd]);
  await data.command({ createIndexes: 'rows', indexes: [rawValue('0', index)] });
  await data.command({ create: rawValue('create', odd) });
}

async function plantShards(shop: Db): Promise<void> {
  await shop.collection('items').insertMany([{ k: 1 }, { k: [1, 2] }]);
  await shop
    .collection('unique')
    .createIndexes([{ key: { u: 1 }, unique: true }, { key: { k: 1 } }]);
  await shop.createCollection('view', { viewOn: 'items', pipeline: [] });
  await shop.createCollection('capped', { capped: true, size: 4096 });
  await shop.collection('hidden').insertOne({});
  await shop.createCollection('outside', { viewOn: 'hidden', pipeline: [] });
  // With that on _id: 64.
  const keys = Array.from({ length: 63 }, (_, index) => ({ key: { [`field${index}`]: 1 } }));
  await shop.collection('many').createIndexes(keys);
}

async function storeOtherSync(client: MongoClient, name: 'cluster0' | 'cluster1'): Promise<void> {
  await client
    .db('clustersync_internal')
    .collection<{ _id: string }>('sync')
    .insertOne(otherSync({ name, clusterId: 'another' }));
}

async function openTransaction(client: MongoClient): Promise<ClientSession> {
  const session = client.startSession();
  session.startTransaction();
  await client.db('shop').collection('items').insertOne({ k: 2 }, { session });
  return session;
}

async function killSecondary(set: ReplicaSet, client: MongoClient): Promise<void> {
  const primary = await set.primary();
  const secondary = set.members.find((member) => member !== primary);
  if (!secondary) throw new Error('the source has three members');
  await set.kill(secondary);
  await until('the primary has noticed it', async () => {
    const status = await client.db('admin').command({ replSetGetStatus: 1 });
    return (status['members'] as { health: number }[]).some(({ health }) => health === 0);
  });
}

function asUser(set: ReplicaSet, user: string): string {
  return set.uri('syncer').replace(/\/\/.*@/, `//${user}:secret@`);
}
