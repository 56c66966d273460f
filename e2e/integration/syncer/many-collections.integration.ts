import assert from 'node:assert/strict';
import { performance } from 'node:perf_hooks';
import type { Db } from 'mongodb';
import { forEachConcurrently } from '../../../service/concurrency.ts';
import { sleep } from '../../../service/sleep.ts';
import { fewOpenFiles } from '../../ground/mongod/few-open-files.ts';
import type { SyncerProcess } from '../../ground/syncer-process.ts';
import { forward, useClusterPair } from './cluster-pair.ts';
import { peakResidentBytes } from '../../ground/peak-memory.ts';

/** `COLLECTIONS=10000 npm run test:integration` for the full size: it takes many minutes on two cores. */
const collections = Number(process.env['COLLECTIONS'] ?? 200);

/** Indexes in one database, apart from those on `_id`. */
const indexes = 500;
const indexesPerCollection = 50;

const deadlineMs = 180_000 + collections * 600;

/** Resident memory that a syncer stays under, whatever the number of collections. */
const maxResidentBytes = 350 * 1024 * 1024;

describe(`a source with ${collections} collections, and a database with ${indexes} indexes`, function () {
  this.timeout(deadlineMs * 4);
  const pair = useClusterPair({ args: fewOpenFiles });

  it('is synced in bounded memory, while collections are written to, made and dropped', async () => {
    await pair.reset();
    const db = pair.source.client.db('many');
    const numbers = Array.from({ length: collections }, (_, n) => n);
    await forEachConcurrently(numbers, 8, async (n) => {
      const clusteredIndex = { key: { _id: 1 }, unique: true } as const;
      await db.createCollection(`c${n}`, n % 2 > 0 ? { clusteredIndex } : {});
      // Every fourth one stays empty.
      if (n % 4 > 0) await db.collection(`c${n}`).insertMany([{ n: 1 }, { n: 2 }]);
    });
    await createIndexes(pair.source.client.db('indexed'));
    await using syncer = await pair.syncer();
    const writing = new AbortController();
    await syncer.start(forward);
    const startedAt = performance.now();
    const written = keepWriting(db, writing.signal);
    const polled = slowestProgressMs(syncer, writing.signal);
    await syncer.waitFor(({ canCommit }) => canCommit, { deadlineMs });
    const copySeconds = Math.round((performance.now() - startedAt) / 1000);
    writing.abort();
    const [, slowestMs] = await Promise.all([written, polled]);
    const residentBytes = await peakResidentBytes(syncer.pid);
    await syncer.commit();
    await syncer.waitFor(({ state }) => state === 'COMMITTED', { deadlineMs });
    if (process.env['COLLECTIONS'] !== undefined)
      console.log(`${copySeconds} s, ${residentBytes} bytes, progress within ${slowestMs} ms`);
    await pair.assertEqual();
    assert.ok(residentBytes < maxResidentBytes, `${residentBytes} bytes resident`);
  });

  async function createIndexes(db: Db): Promise<void> {
    for (let n = 0; n < indexes / indexesPerCollection; n++) {
      const specs = Array.from({ length: indexesPerCollection }, (_, index) => ({
        key: { [`field${index}`]: 1 },
        name: `index ${index}`,
        unique: index % 5 === 0,
        sparse: true,
      }));
      await db.command({ createIndexes: `c${n}`, indexes: specs });
      await db.collection(`c${n}`).insertOne({ field0: n });
    }
  }

  /** Writes to collections old and new until it is told to end. */
  async function keepWriting(db: Db, signal: AbortSignal): Promise<void> {
    for (let n = 0; !signal.aborted; n++) {
      await db.collection(`c${(n * 7) % collections}`).insertOne({ later: n });
      if (n % 10 === 0) await db.collection(`new${n}`).insertOne({ n });
      if (n % 20 === 0) await db.dropCollection(`c${(n * 3) % collections}`);
      await sleep(5, signal).catch(() => undefined);
    }
  }

  async function slowestProgressMs(syncer: SyncerProcess, signal: AbortSignal): Promise<number> {
    let slowest = 0;
    while (!signal.aborted) {
      const askedAt = performance.now();
      await syncer.getProgress();
      slowest = Math.max(slowest, performance.now() - askedAt);
      await sleep(50, signal).catch(() => undefined);
    }
    return Math.round(slowest);
  }
});
