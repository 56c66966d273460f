import assert from 'node:assert/strict';
import { MongoClient } from 'mongodb';
import { assertEqualClusters } from '../../ground/compare.ts';
import {
  startProxiedReplicaSet,
  type ProxiedReplicaSet,
} from '../../ground/mongod/proxied-replica-set.ts';
import { startSyncerProcess, type SyncerProcess } from '../../ground/syncer-process.ts';
import { until } from '../../ground/until.ts';
import { commandKind } from './command-kind.ts';
import { forward } from './cluster-pair.ts';
import { isReversiblePair } from './skip-reversal.ts';

/** `LENGTH=long`: each kind of command falls silent, in syncs side by side; otherwise those that matter most. */
const isWhole = process.env['LENGTH'] === 'long';
const groups = isWhole ? 8 : 1;

/** A silence costs 20 s; one of a write that could come late, 30 s more. */
const maxSilenceMs = 60_000;

/** Every kind of command that the syncer sends to either side, but for those that the server may never see. */
const kinds = {
  source: [
    'aggregate $changeStream',
    'aggregate $currentOp',
    'aggregate $documents',
    'aggregate $querySettings',
    'aggregate $sample',
    'appendOplogNote',
    'buildInfo',
    'collStats of local',
    'connectionStatus',
    'dataSize',
    'endSessions',
    'find',
    'find of local',
    'find of the state',
    'getMore',
    'getMore of the change stream',
    'getParameter',
    'hello',
    'killCursors',
    'listCollections',
    'listDatabases',
    'listIndexes',
    'replSetGetConfig',
    'saslContinue',
    'serverStatus',
    'setUserWriteBlockMode',
  ],
  destination: [
    'aggregate $currentOp',
    'appendOplogNote',
    'buildInfo',
    'collMod',
    'collStats',
    'collStats of local',
    'connectionStatus',
    'create',
    'createIndexes',
    'delete',
    'delete of the state',
    'drop',
    'dropIndexes',
    'endSessions',
    'find',
    'find of local',
    'find of the state',
    'findAndModify of the state',
    'getParameter',
    'hello',
    'hostInfo',
    'insert',
    'insert of the state',
    'listCollections',
    'listDatabases',
    'listIndexes',
    'renameCollection',
    'replSetGetConfig',
    'saslContinue',
    'serverStatus',
    'setUserWriteBlockMode',
    'update',
    'update of the state',
  ],
} as const;

/** Sent only where the answer of another one was waited for in vain: no silence can be planned for it. */
const afterSilence = ['killSessions'];

/** Sent to the destination for the way back alone. */
const ofReversal = 'collStats of local';

const mostImportant = new Set(['find', 'getMore of the change stream', 'insert']);

type SideName = keyof typeof kinds;
const sideNames = ['source', 'destination'] as const;

/** The kinds of commands of one side whose connection falls silent, and those that were seen. */
interface Silences {
  readonly planned: Set<string>;
  readonly met: Set<string>;
  readonly seen: Set<string>;
}

describe('a sync with connections that fall silent alone', function () {
  this.timeout(900_000);
  let pairs: Record<SideName, ProxiedReplicaSet>[];
  before(async () => {
    pairs = await Promise.all(
      Array.from({ length: groups }, async () => {
        const [source, destination] = await Promise.all(
          sideNames.map(async (name) => await startProxiedReplicaSet({ name, members: 1 })),
        );
        assert.ok(source && destination);
        return { source, destination };
      }),
    );
  });
  after(async () => {
    for (const pair of pairs) for (const side of sideNames) await pair[side][Symbol.asyncDispose]();
  });

  it(`continues soon, whatever was sent on them${isWhole ? '' : ' of what matters most'}`, async () => {
    const reversible = await isReversiblePair();
    const results = await Promise.allSettled(
      pairs.map(async (pair, group) => {
        const silences = {
          source: silencesOf('source', group),
          destination: silencesOf('destination', group),
        };
        if (!reversible) silences.destination.planned.delete(ofReversal);
        for (const side of sideNames)
          for (const proxy of pair[side].proxies) proxy.strandAt(falling(silences[side]));
        await sync(pair, silences, reversible);
        return silences;
      }),
    );
    const failures = results.flatMap((result) =>
      result.status === 'rejected' ? [String(result.reason)] : [],
    );
    assert.deepEqual(failures, []);
    for (const side of sideNames) {
      const seen = results.flatMap((result) =>
        result.status === 'fulfilled' ? [...result.value[side].seen] : [],
      );
      const known: readonly string[] = kinds[side];
      assert.deepEqual(
        seen.filter((kind) => !known.includes(kind) && !afterSilence.includes(kind)),
        [],
        `${side}: kinds that this test does not know`,
      );
    }
  });
});

/** The kinds that one sync of several meets: every n-th, so that each has some of each phase. */
function silencesOf(side: SideName, group: number): Silences {
  const offset = side === 'source' ? group : group + 1;
  const planned = kinds[side].filter((kind, index) =>
    isWhole ? (index + offset) % groups === 0 : mostImportant.has(kind),
  );
  return { planned: new Set(planned), met: new Set(), seen: new Set() };
}

/** True for the first command of each kind that is planned. */
function falling({ planned, met, seen }: Silences): (bytes: Buffer) => boolean {
  return (bytes) => {
    const kind = commandKind(bytes);
    if (kind === undefined) return false;
    seen.add(kind);
    if (!planned.has(kind) || met.has(kind)) return false;
    met.add(kind);
    return true;
  };
}

async function sync(
  { source, destination }: Record<SideName, ProxiedReplicaSet>,
  silences: Record<SideName, Silences>,
  reversible: boolean,
): Promise<void> {
  await using client = new MongoClient(source.set.uri('admin', { w: 'majority' }));
  const shop = client.db('shop');
  await shop
    .collection('items')
    .insertMany(
      Array.from({ length: 500 }, (_, n) => ({ _id: n as never, n, text: 'x'.repeat(20_000) })),
    );
  await shop.command({
    createIndexes: 'items',
    indexes: [{ key: { n: 1 }, name: 'n', unique: true, expireAfterSeconds: 1e6 }],
  });
  for (const name of ['dropped', 'renamed']) await shop.collection(name).insertOne({ name });
  await shop.command({ create: 'view', viewOn: 'items', pipeline: [{ $limit: 3 }] });

  await using syncer = await startSyncerProcess({
    cluster0: source.set.uri('syncer'),
    cluster1: destination.set.uri('syncer'),
    options: { partitionMebibytes: 8, copyWorkers: 2, applyWorkers: 2 },
    until: 'listening',
  });
  await taken(syncer, 'start', {
    ...forward,
    enableUserWriteBlocking: true,
    reversible,
    excludeNamespaces: [{ databaseRegex: { pattern: '^private' } }],
  });
  await reached(syncer, ({ canCommit }) => canCommit);

  await shop.collection('items').updateOne({ n: 1 }, { $set: { text: 'changed' } });
  await shop.collection('items').insertOne({ n: 1_000 });
  await shop.collection('items').deleteOne({ n: 2 });
  await shop.command({ collMod: 'items', validator: { n: { $exists: true } } });
  await shop.command({ createIndexes: 'items', indexes: [{ key: { text: 1 }, name: 'text' }] });
  await shop.command({ dropIndexes: 'items', index: 'text' });
  await shop.collection('renamed').rename('name');
  await shop.dropCollection('dropped');
  await shop.createCollection('late');
  await taken(syncer, 'commit', {});
  await reached(syncer, ({ state }) => state === 'COMMITTED');
  // From now on the way back needs the oplog of the destination, which is looked at every other second.
  if (reversible)
    await until(
      'the oplog of the destination has been looked at',
      () => silences.destination.seen.has(ofReversal),
      5 * maxSilenceMs,
    );

  await syncer.kill('SIGTERM');
  assert.equal(syncer.exitCode, 0);
  for (const side of sideNames)
    assert.deepEqual([...silences[side].met].sort(), [...silences[side].planned].sort(), side);
  await assertEqualClusters(source.set.uri('admin'), destination.set.uri('admin'));
}

/** Sends a command until it is taken: an answer of the cluster may have been waited for in vain. */
async function taken(syncer: SyncerProcess, command: string, body: object): Promise<void> {
  await until(
    `${command} is taken`,
    async () => {
      const answer = await syncer.post(command, body);
      if (answer.status === 200) return true;
      const error = String(answer.body['error']);
      // A commit needs answers of both sides that are a few seconds old at most.
      const isPassing =
        ['NotStarted', 'ClusterUnreachable'].includes(error) ||
        (command === 'commit' && error === 'CannotCommitYet');
      assert.ok(isPassing, JSON.stringify(answer.body));
      return false;
    },
    5 * maxSilenceMs,
  );
}

async function reached(
  syncer: SyncerProcess,
  isReached: Parameters<SyncerProcess['waitFor']>[0],
): Promise<void> {
  await syncer.waitFor(isReached, { deadlineMs: 7 * maxSilenceMs });
}
