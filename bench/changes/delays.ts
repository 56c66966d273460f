import { pause, type ChangesGround } from './ground.ts';
import type { LoadDocument } from './operations.ts';

/** How long writes to the source take to be seen on the destination, in milliseconds. */
export interface Delays {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

/** What a live load of mixed operations led to. */
export interface LiveResult {
  readonly operationsPerSecond: number;
  /** Delays of single writes beside the load: the lag. */
  readonly lag: Delays;
  /** From the end of the load until the destination has everything. */
  readonly catchUpMs: number;
}

/** Writes single documents one after the other, and waits for each on the destination: the delay from its sending. */
export async function measureSingleWrites(ground: ChangesGround, count: number): Promise<Delays> {
  const delays: number[] = [];
  for (let n = 0; n < count; n++) {
    await pause(Math.random() * 100);
    delays.push(await singleWrite(ground));
  }
  return delaysOf(delays);
}

/** Lets all writers write one operation after the other, as fast as the source answers, and watches the lag. */
export async function measureLive(ground: ChangesGround, loadMs: number): Promise<LiveResult> {
  const rows = ground.source.db('bench').collection<LoadDocument>('rows');
  const end = AbortSignal.timeout(loadMs);
  let operations = 0;
  const lags: number[] = [];
  await Promise.all([
    ...ground.loads.map(async (load) => {
      while (!end.aborted) {
        await rows.bulkWrite([load.next()]);
        operations++;
      }
    }),
    (async () => {
      while (!end.aborted) {
        await pause(50);
        lags.push(await singleWrite(ground));
      }
    })(),
  ]);
  const catchUpMs = await singleWrite(ground);
  return {
    operationsPerSecond: Math.round((operations * 1_000) / loadMs),
    lag: delaysOf(lags),
    catchUpMs,
  };
}

let writes = 0;

async function singleWrite({ source, seen }: ChangesGround): Promise<number> {
  const _id = `single-${Date.now()}-${writes++}`;
  const start = performance.now();
  await source.db('bench').collection<{ _id: string }>('singles').insertOne({ _id });
  await seen(_id);
  return performance.now() - start;
}

function delaysOf(delays: readonly number[]): Delays {
  const sorted = delays.toSorted((left, right) => left - right);
  const at = (share: number): number =>
    Math.round(
      (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN) * 10,
    ) / 10;
  return { p50: at(0.5), p99: at(0.99), max: at(1) };
}
