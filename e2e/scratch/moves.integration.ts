import { BSON, MongoServerError } from 'mongodb';
import { SeededRandom } from '../ground/workload/seeded-random.ts';
import { useShardedPair } from '../integration/syncer/sharded-pair.ts';
import { syncThroughKills } from '../integration/syncer/sync-through-kills.ts';
import { sleep } from '../../service/sleep.ts';
import { writeFileSync } from 'node:fs';

const isShared = process.env['SHARED'] === '1';
const from = Number(process.env['FROM'] ?? 1), to = Number(process.env['TO'] ?? 20);
describe('moves', function () {
  this.timeout(300_000);
  const pair = useShardedPair(3, 2);
  beforeEach(async () => { await pair.reset(); });
  const command = async (d: object) => { await pair.source.client.db('admin').command(d).catch((e: unknown) => { if (!(e instanceof MongoServerError)) throw e; }); };
  for (let seed = from; seed <= to; seed++) it(`seed ${seed}`, async () => {
    await command({ enableSharding: 'moves', primaryShard: 'from-0' });
    await command({ shardCollection: 'moves.items', key: { number: 1 } });
    await command({ split: 'moves.items', middle: { number: 250 } });
    await command({ moveChunk: 'moves.items', find: { number: 250 }, to: 'from-1' });
    const items = pair.source.client.db('moves').collection<any>('items');
    const stream = pair.source.client.watch([], { showExpandedEvents: true });
    await stream.tryNext();
    const history: any[] = [];
    let isOver = false;
    const reading = (async () => { while (!isOver) { const e: any = await stream.tryNext(); if (e) { history.push({ o: e.operationType, k: e.documentKey, t: e.clusterTime, u: e.updateDescription?.updatedFields, f: e.fullDocument }); if (e.operationType === 'create') return; } } })();
    await items.insertMany(Array.from({ length: 500 }, (_, number) => ({ _id: number, number })));
    await syncThroughKills(pair, seed * 2, { isShared, write: async (signal) => {
      const move = async (random: SeededRandom) => { for (let round = 0; !signal.aborted; round++) {
        const _id = random.below(500);
        try {
          const [found] = await items.find({ _id }).toArray();
          if (!found) { await items.insertOne({ _id, number: random.below(500) }); continue; }
          const at = { _id, number: found.number }; const number = random.below(500);
          if (random.chance(0.1)) await items.deleteOne(at);
          else if (random.chance(0.2)) await items.replaceOne(at, { number, round });
          else if (random.chance(0.3)) await items.updateOne(at, { $set: { round } });
          else await items.updateOne(at, { $set: { number, round } });
        } catch (e) { if (!(e instanceof MongoServerError)) throw e; }
      } };
      const places = async (random: SeededRandom) => { while (!signal.aborted) { await command({ moveChunk: 'moves.items', find: { number: random.below(500) }, to: random.pick(['from-0', 'from-1']) }); await sleep(100, signal).catch(() => undefined); } };
      await Promise.all([move(new SeededRandom(seed)), move(new SeededRandom(seed + 1000)), places(new SeededRandom(seed))]);
    } });
    try { await pair.assertEqual(); } catch (error) {
      await pair.source.client.db('moves').createCollection('end'); await reading;
      const found = [...String(error).matchAll(/_id \{"\$numberInt":"(\d+)"\}/g)].map((m) => Number(m[1]));
      const shards = await pair.destination.onShards('moves.items');
      const source = await pair.source.ground!.onShards('moves.items');
      for (const id of found.slice(0, 3)) {
        const out = { id, destination: Object.entries(shards).map(([s, d]) => [s, d.filter((x: any) => x._id === id)]), source: Object.entries(source).map(([s, d]) => [s, d.filter((x: any) => x._id === id)]), history: history.filter((e) => e.k?._id === id) };
        writeFileSync(`/tmp/moves-${isShared}-${seed}-${id}.json`, BSON.EJSON.stringify(out, undefined, 1));
        console.log(BSON.EJSON.stringify({ ...out, history: out.history.slice(-8) }));
      }
      throw error;
    } finally { isOver = true; await stream.close().catch(() => undefined); await reading.catch(() => undefined); }
  });
});
