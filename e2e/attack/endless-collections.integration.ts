import assert from 'node:assert/strict';
import { Binary, Long, Timestamp, UUID, type Document } from 'mongodb';
import { createClusterClient, type ClusterClient } from '../../mongo/cluster-client.ts';
import { readConfig } from '../../mongo/config-database.ts';
import { deploymentOf } from '../../mongo/deployment.ts';
import { readShardIndexes } from '../../mongo/shard-indexes.ts';
import { RetryWarnings } from '../../mongo/retry-warnings.ts';
import { SyncError } from '../../service/errors.ts';
import { createLogger } from '../../service/logger.ts';
import { DestinationSharding } from '../../syncer/destination/destination-sharding.ts';
import { encodeCollection, stored } from '../../syncer/store/encoding.ts';
import { SyncStore } from '../../syncer/store/store.ts';
import { metadataDb, type MetadataStore } from '../../verifier/store/metadata-store.ts';
import { CoverageStore } from '../../verifier/store/coverage-store.ts';
import { TaskStore } from '../../verifier/store/task-store.ts';
import { VerificationStore } from '../../verifier/store/verification-store.ts';
import { encode } from '../ground/sharded/router/wire.ts';
import { FakeMongod } from './fake-mongod.ts';

const { signal } = new AbortController();
const mebibyte = 1024 * 1024;

/** Of each document: with the rest of it, it is as long as a server takes one. */
const padding = new Binary(Buffer.alloc(16 * mebibyte - 4_096));

/** What is read whole has this many documents at most. */
const mostDocuments = 256 / 16;

/** So many the server has: who reads all of them has no bound. */
const offered = mostDocuments + 4;

const time = new Timestamp({ t: 1, i: 2 });
const uuid = new UUID();
const pass = { run: 'r', generation: 1, epoch: 1 };

const collection = encodeCollection({
  uuid,
  namespace: { db: 'shop', coll: 'items' },
  ...{ destinationUuid: null, shardKey: null, options: {}, indexes: [] },
  ...{ namedAt: time, namedBy: time, specifiedAt: time, replacedUuid: null },
  ...{ sizeBytes: 7, documentCount: 1, isAdopted: false, isCopied: false },
});

function storeOf(cluster: ClusterClient): SyncStore {
  return new SyncStore(cluster, 'a', signal);
}

function metadataStore(cluster: ClusterClient): MetadataStore {
  return {
    db: metadataDb(cluster),
    signal,
    logger: createLogger('test', 'fatal'),
    monitor: {
      retryWarnings: new RetryWarnings(),
      addRetry: (work, error) => assert.fail(`${work} is repeated after ${String(error)}`),
    },
  };
}

function verificationsOf(cluster: ClusterClient): VerificationStore {
  const identity = { verification: 'v', id: 'a', incarnation: 'x', attempt: undefined };
  return new VerificationStore(metadataStore(cluster), identity);
}

function shardingOf(cluster: ClusterClient): DestinationSharding {
  const deployment = deploymentOf(cluster, { kind: 'sharded', shards: ['one'] });
  return new DestinationSharding({ deployment, signal } as never);
}

/** By what the error names: a document that can be read, and how what is there is read. */
const readings: Readonly<
  Record<
    string,
    {
      readonly document: Document;
      readonly read: (cluster: ClusterClient) => Promise<unknown>;
    }
  >
> = {
  'clustersync_internal.instances': {
    document: { _id: 'a' },
    read: async (cluster) => await storeOf(cluster).readInstances(),
  },
  'clustersync_internal.views': {
    document: { _id: 'a' },
    read: async (cluster) => await storeOf(cluster).readViews(),
  },
  'clustersync_internal.collections': {
    document: collection,
    read: async (cluster) => await storeOf(cluster).readCollections(),
  },
  'clustersync_internal.partitions': {
    document: { _id: { collection: uuid, index: 0 }, min: null, max: stored({ _id: 1 }) },
    read: async (cluster) => await storeOf(cluster).partitions.readPending(),
  },
  'clustersync_internal.leftIndexes': {
    document: { _id: 'a' },
    read: async (cluster) => await storeOf(cluster).leftIndexes.read(),
  },
  'config.tags': {
    document: { _id: 'a' },
    read: async (cluster) => await readConfig(cluster, { find: 'tags', filter: {} }, signal),
  },
  'config.chunks': {
    document: { _id: 'a' },
    read: async (cluster) => await shardingOf(cluster).chunksOf({ db: 'shop', coll: 'items' }),
  },
  'the indexes of shop.items': {
    document: { shard: 'one', spec: { v: 2, key: { a: 1 }, name: 'a_1' } },
    read: async (cluster) =>
      await readShardIndexes(cluster, { db: 'shop', coll: 'items' }, [], signal),
  },
  'clustersync_verifier.verifications': {
    document: { _id: 'a' },
    read: async (cluster) => await verificationsOf(cluster).runs(),
  },
  'clustersync_verifier.coverages': {
    document: { _id: 'a' },
    read: async (cluster) => await new CoverageStore(metadataStore(cluster)).latest('r'),
  },
  'clustersync_verifier.tasks': {
    document: { _id: 'a', claim: 'c', noted: 1 },
    read: async (cluster) => await new TaskStore(metadataStore(cluster)).notes(pass),
  },
};

describe('a collection that is read whole, of a server that has documents without end', () => {
  for (const [named, { document, read }] of Object.entries(readings)) {
    it(`is read up to 256 MiB, and refused by name: ${named}`, async () => {
      const bytes = encode({ ...document, padding });
      assert.ok(bytes.length > 15 * mebibyte && bytes.length <= 16 * mebibyte);
      let sent = 0;
      const batch = (name: 'firstBatch' | 'nextBatch'): Uint8Array => {
        sent += 1;
        const id = Long.fromNumber(sent < offered ? 7 : 0);
        const ns = 'a.b';
        return encode({ ok: 1, cursor: { id, ns, [name]: [{ ...document, padding }] } });
      };
      await using fake = await FakeMongod.start(
        ({ name, command, honest, answer, answerBytes }) => {
          if (name === 'getMore') answerBytes(batch('nextBatch'));
          else if (command['find'] === 'collections' && command['$db'] === 'config') {
            const placed = { _id: 'shop.items', uuid };
            answer({ ok: 1, cursor: { id: Long.ZERO, ns: 'a.b', firstBatch: [placed] } });
          } else if (name === 'find' || name === 'aggregate') answerBytes(batch('firstBatch'));
          else answer(honest);
        },
      );
      const uri = `mongodb://${fake.address}/?directConnection=true`;
      await using cluster = createClusterClient({ uri, option: 'cluster0', appName: 'test' });
      await assert.rejects(read(cluster), (error) => {
        assert.ok(error instanceof SyncError, String(error));
        assert.equal(error.name, 'ServerRefused');
        assert.ok(error.message.includes(`more than 256 MiB of ${named},`), error.message);
        return true;
      });
      assert.ok(sent >= mostDocuments && sent <= mostDocuments + 2, `${sent} documents`);
    });
  }
});
