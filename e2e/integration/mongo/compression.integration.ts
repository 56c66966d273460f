import assert from 'node:assert/strict';
import type { MongoClient } from 'mongodb';
import { forward, useClusterPair } from '../syncer/cluster-pair.ts';
import { startSyncerProcess } from '../../ground/syncer-process.ts';

/** What a server has unpacked by a compressor so far. */
async function unpackedBytes(client: MongoClient, compressor: string): Promise<number> {
  const { network } = (await client.db('admin').command({ serverStatus: 1 })) as {
    readonly network: {
      readonly compression: Readonly<
        Record<string, { readonly decompressor: { readonly bytesOut: unknown } }>
      >;
    };
  };
  return Number(network.compression[compressor]?.decompressor.bytesOut);
}

describe('connections that a connection string compresses', () => {
  const pair = useClusterPair();
  const text = 'all work and no play makes a dull document. '.repeat(20);
  const documents = Array.from({ length: 5_000 }, (_, _id) => ({ _id, text }));

  beforeEach(async () => {
    await pair.reset();
  });

  // Node.js includes zstd and zlib. A server that is offered snappy takes it.
  for (const [compressors, used] of [
    ['zstd', 'zstd'],
    ['zlib', 'zlib'],
    ['snappy,zstd,zlib', 'zstd'],
    ['snappy,zlib', 'zlib'],
  ] as const)
    it(`carry a sync with compressors=${compressors}`, async () => {
      const items = pair.source.client.db('shop').collection<{ _id: number }>('items');
      await items.insertMany(documents);
      const sides = [pair.source.client, pair.destination.client] as const;
      const before = await Promise.all(sides.map(async (side) => await unpackedBytes(side, used)));
      await using syncer = await startSyncerProcess({
        cluster0: pair.source.set.uri('syncer', { compressors }),
        cluster1: pair.destination.set.uri('syncer', { compressors }),
      });
      await syncer.start(forward);
      await syncer.waitFor(({ canCommit }) => canCommit);
      await items.updateMany({ _id: { $lt: 100 } }, { $set: { text: `${text}!` } });
      await syncer.commit();
      await syncer.waitFor(({ state }) => state === 'COMMITTED');
      await pair.assertEqual();
      const after = await Promise.all(sides.map(async (side) => await unpackedBytes(side, used)));
      const [fromSource = 0, toDestination = 0] = after.map(
        (bytes, side) => bytes - (before[side] ?? 0),
      );
      // The destination unpacked all documents; the source, the commands alone.
      assert.ok(toDestination > documents.length * text.length, `${toDestination} bytes`);
      assert.ok(fromSource > 0, `${fromSource} bytes`);
    });
});
