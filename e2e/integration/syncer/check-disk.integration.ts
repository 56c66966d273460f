import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { dirname, join } from 'node:path';
import { MongoClient } from 'mongodb';
import { skipBecause } from '../../runner/skip.ts';
import type { CheckAnswer } from '../../../sync-api/json.ts';
import { startReplicaSet, type ReplicaSet } from '../../ground/mongod/replica-set.ts';
import { mongodBinary } from '../../ground/mongod/mongod-process.ts';
import { noSmallDisk, resizeDisk } from '../../ground/mongod/small-disk.ts';
import { useShardedCluster } from '../../ground/sharded/use-sharded-cluster.ts';
import { startSyncerProcess } from '../../ground/syncer-process.ts';
import { createBareUser } from './bare-user.ts';
import { forward } from './cluster-pair.ts';

const MB = 1_000_000;

/** More than what any destination has room for, of documents that a server cannot compress. */
const copiedBytes = 120 * MB;
const documentBytes = 4 * MB;

describe('POST /check of the disk of the destination', function () {
  this.timeout(120_000);
  let source: ReplicaSet | undefined;

  async function found(destination: string, body: object = {}): Promise<readonly string[]> {
    assert.ok(source);
    await using syncer = await startSyncerProcess({
      cluster0: source.uri('syncer'),
      cluster1: destination,
    });
    const answer = await syncer.post('check', { ...forward, ...body });
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    const { canStart, findings } = answer.body as unknown as CheckAnswer;
    assert.equal(canStart, true, JSON.stringify(findings));
    return findings
      .filter(({ name }) => name.startsWith('Disk'))
      .map(({ severity, name, side, message }) => `${severity} ${name} of ${side}: ${message}`);
  }

  before(async () => {
    source = await startReplicaSet({ members: 1, name: 'source' });
    await using client = new MongoClient(source.uri('admin'));
    const rows = client.db('large').collection('rows');
    for (let bytes = 0; bytes < copiedBytes; bytes += documentBytes)
      await rows.insertOne({ random: randomBytes(documentBytes) });
    // Until then the size of its file is not that of the collection.
    await client.db('admin').command({ fsync: 1 });
  });
  after(async () => {
    await source?.stop();
  });

  describe('a replica set with a disk of its own', () => {
    let destination: ReplicaSet | undefined;
    before(async function () {
      const reason = await noSmallDisk(await mongodBinary('destination'));
      if (reason !== undefined) skipBecause(this, reason);
      const diskBytes = 1_000 * MB;
      destination = await startReplicaSet({ members: 1, name: 'destination', diskBytes });
    });
    after(async () => {
      await destination?.stop();
    });

    /** Lets the disk of the destination have so much room. */
    async function leaveFree(bytes: number): Promise<void> {
      assert.ok(destination);
      const [member] = destination.members;
      assert.ok(member?.pid !== undefined);
      await using client = new MongoClient(destination.uri('admin'));
      const stats = async (): Promise<{ readonly free: number; readonly used: number }> => {
        const { fsTotalSize, fsUsedSize } = await client.db('admin').command({ dbStats: 1 });
        return { free: Number(fsTotalSize) - Number(fsUsedSize), used: Number(fsUsedSize) };
      };
      const { used } = await stats();
      await resizeDisk(member.pid, join(dirname(member.logFile), 'member-0'), used + bytes);
      const { free } = await stats();
      assert.ok(Math.abs(free - bytes) < 5 * MB, `the disk has ${free} bytes of room`);
    }

    // The copy is on the destination twice: the oplog has it, too.
    for (const [what, bytes, expected] of [
      [
        'too small',
        200 * MB,
        /^warning DiskTooSmall of destination: (19\d|20\d) MB are free, and 2[45]\d MB are needed: 12\d MB of documents and indexes \(the size on the source\), and up to 12\d MB of oplog$/,
      ],
      [
        'tight',
        270 * MB,
        /^advice DiskTight of destination: (26|27)\d MB are free, and 2[45]\d MB /,
      ],
      ['large enough', 600 * MB, undefined],
    ] as const)
      it(`says whether it is ${what}`, async () => {
        assert.ok(destination);
        await leaveFree(bytes);
        const [first, ...others] = await found(destination.uri('syncer'));
        assert.deepEqual(others, []);
        if (expected) assert.match(first ?? '', expected);
        else assert.equal(first, undefined);
      });
  });

  it('says that it is unknown if the user may not ask for it', async () => {
    await using destination = await startReplicaSet({ members: 1, name: 'destination' });
    await using client = new MongoClient(destination.uri('admin'));
    const admin = client.db('admin');
    const asBare = await createBareUser(client, destination.uri('syncer'));
    const [first, ...others] = await found(asBare);
    assert.deepEqual(others, []);
    assert.match(
      first ?? '',
      /^advice DiskUnknown of destination: its free space is unknown \(not authorized on admin to execute command .*dbStats.*\); it needs 12\d MB of documents and indexes/,
    );
    // It is the right that is missing.
    await admin.command({ grantRolesToUser: 'bare', roles: ['clusterMonitor'] });
    assert.deepEqual(await found(asBare), []);
  });

  describe('a sharded cluster', () => {
    const destination = useShardedCluster({ side: 'destination', shards: 1 });
    it('is known through a router, too', async () => {
      const sharding = { shardingEntries: [] };
      assert.deepEqual(await found(destination.cluster.uri('syncer'), { sharding }), []);
      // Not because there is nothing to say: with too small a disk there would be.
      const { raw } = await destination.admin({ dbStats: 1 });
      for (const stats of Object.values(raw as Record<string, { fsTotalSize: number }>))
        assert.ok(stats.fsTotalSize > copiedBytes);
    });
  });
});
