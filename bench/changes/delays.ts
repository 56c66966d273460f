import { pause, type ChangesGround } from './ground.ts';
import type { LoadDocument } from './operations.ts';

/** Milliseconds from sending each write until it is visible on the destination. */
export interface WriteDelays {
  /** Written to the source and synced. */
  readonly synced: readonly number[];
  /** The floor: the same client writes to the source, and then itself to the destination. */
  readonly direct: readonly number[];
}

/** The effect of a live load of mixed operations. */
export interface LiveResult extends WriteDelays {
  readonly operationsPerSecond: number;
  /** The largest lag that progress reported. */
  readonly maxLagTimeSeconds: number;
  /** From the end of the load until the destination has everything. */
  readonly catchUpMs: number;
}

/** Writes single documents one after the other, alternately synced and directly, `count` of each. */
export async function measureSingleWrites(
  ground: ChangesGround,
  count: number,
): Promise<WriteDelays> {
  const delays = { synced: [] as number[], direct: [] as number[] };
  for (let n = 0; n < count; n++) {
    for (const way of ['synced', 'direct'] as const) {
      await pause(Math.random() * 100);
      delays[way].push(await singleWrite(ground, way));
    }
  }
  return delays;
}

/** Lets all writers write operation after operation, as fast as the source answers, and watches the lag. */
export async function measureLive(ground: ChangesGround, loadMs: number): Promise<LiveResult> {
  const rows = ground.source.db('bench').collection<LoadDocument>('rows');
  const end = AbortSignal.timeout(loadMs);
  let operations = 0;
  const delays = { synced: [] as number[], direct: [] as number[] };
  let maxLagTimeSeconds = 0;
  await Promise.all([
    ...ground.loads.map(async (load) => {
      while (!end.aborted) {
        await rows.bulkWrite([load.next()]);
        operations++;
      }
    }),
    (async () => {
      while (!end.aborted) {
        for (const way of ['synced', 'direct'] as const) {
          await pause(50);
          delays[way].push(await singleWrite(ground, way));
        }
        const { lagTimeSeconds } = await ground.syncer.progress();
        maxLagTimeSeconds = Math.max(maxLagTimeSeconds, lagTimeSeconds ?? 0);
      }
    })(),
  ]);
  const catchUpMs = await singleWrite(ground, 'synced');
  return {
    operationsPerSecond: Math.round((operations * 1_000) / loadMs),
    maxLagTimeSeconds,
    catchUpMs,
    ...delays,
  };
}

let writes = 0;

async function singleWrite(
  { source, destination, seen }: ChangesGround,
  way: keyof WriteDelays,
): Promise<number> {
  const _id = `single-${Date.now()}-${writes++}`;
  const start = performance.now();
  await source.db('bench').collection<{ _id: string }>(way).insertOne({ _id });
  if (way === 'synced') {
    await seen({ db: 'bench', coll: way }, _id);
  } else {
    await destination.db('bench_floor').collection<{ _id: string }>(way).insertOne({ _id });
    await seen({ db: 'bench_floor', coll: way }, _id);
  }
  return performance.now() - start;
}
