import type { Document } from 'mongodb';
import { BSON, MongoServerError } from 'mongodb';
import { useShardedCluster } from '../ground/sharded/use-sharded-cluster.ts';
import { SeededRandom } from '../ground/workload/seeded-random.ts';
import { changesOf } from '../../syncer/coordination/share.ts';

describe('filters', function () {
  this.timeout(300_000);
  const ground = useShardedCluster({ shards: 2, name: 'from', parameters: { disableResumableRangeDeleter: false } });
  it('union', async () => {
    const client = ground.client;
    const admin = client.db('admin');
    await admin.command({ enableSharding: 'moves', primaryShard: 'from-0' });
    await admin.command({ shardCollection: 'moves.items', key: { number: 1 } });
    await admin.command({ split: 'moves.items', middle: { number: 250 } });
    await admin.command({ moveChunk: 'moves.items', find: { number: 250 }, to: 'from-1' });
    const items = client.db('moves').collection<any>('items');
    const pipe = (i: number | undefined): Document[] => i === undefined ? [] : [{ $match: changesOf({ index: i, count: 2 }, [])! }];
    const open = (i: number | undefined) => client.watch(pipe(i), { showExpandedEvents: true });
    const streams = [undefined, 0, 1].map(open);
    for (const s of streams) await s.tryNext();
    await items.insertMany(Array.from({ length: 500 }, (_, number) => ({ _id: number, number })));
    const random = new SeededRandom(1);
    const end = Date.now() + 60_000;
    const work = async () => { while (Date.now() < end) {
      const _id = random.below(500);
      try {
      const [found] = await items.find({ _id }).toArray();
      if (!found) { await items.insertOne({ _id, number: random.below(500) }); continue; }
      const at = { _id, number: found.number }; const number = random.below(500);
      if (random.chance(0.1)) await items.deleteOne(at);
      else if (random.chance(0.2)) await items.replaceOne(at, { number, round: 1 });
      else if (random.chance(0.3)) await items.updateOne(at, { $set: { round: Math.random() } });
      else await items.updateOne(at, { $set: { number, round: Math.random() } });
      } catch (e) { if (!(e instanceof MongoServerError)) throw e; }
      if (random.chance(0.02)) await admin.command({ moveChunk: 'moves.items', find: { number: random.below(500) }, to: random.pick(['from-0', 'from-1']) }).catch(() => undefined);
    } };
    await Promise.all([work(), work(), work()]);
    await client.db('moves').createCollection('end');
    const texts = await Promise.all(streams.map(async (s) => { const seen: string[] = []; for (;;) { const e: any = await s.next(); if (e.operationType === 'create') return seen; seen.push(BSON.EJSON.stringify({ o: e.operationType, k: e.documentKey, t: e.clusterTime, x: e._id._data })); } }));
    const [all, a, b] = texts as [string[], string[], string[]];
    console.log(all.length, a.length, b.length, new Set(all).size);
    const union = new Set([...a, ...b]);
    console.log('missing', all.filter((e) => !union.has(e)).slice(0, 20));
    const full = new Set(all);
    console.log('more', [...union].filter((e) => !full.has(e)).slice(0, 20));
    const ids = (l: string[]) => new Set(l.map((e) => String(JSON.parse(e).k?._id)));
    const ia = ids(a); console.log('both', [...ids(b)].filter((i) => ia.has(i)).length);
    const ops = all.map((e) => JSON.parse(e).o as string); console.log(Object.fromEntries([...new Set(ops)].map((o) => [o, ops.filter((x) => x === o).length])));
    for (const s of streams) await s.close();
  });
});
