import { costOf, type Cost } from './cpu.ts';
import type { LoadDocument, LoadOperation } from './operations.ts';
import { writeInBulk } from './operations.ts';
import { pause, writers, type ChangesGround } from './ground.ts';

/** The application of a backlog of mixed events, compared with writing the same operations directly to the destination. */
export interface BacklogResult {
  readonly events: number;
  /** Operations per second of bulk writes to the destination. */
  readonly floorPerSecond: number;
  /** Events per second, from the moment the stopped syncer continues until the destination has them all. */
  readonly eventsPerSecond: number;
  /** For the bulk writes: CPU seconds of the destination, and of the client. */
  readonly floorCost: Cost<'destination' | 'bench'>;
  /** For applying: CPU seconds of the syncer and of the servers. */
  readonly applyCost: Cost<'syncer' | 'source' | 'destination'>;
}

/** Which of the two is measured first. This alternates, so that other load on the machine does not always hit the same one. */
export type Order = 'bulk writes first' | 'applying first';

/**
 * Stops the syncer, writes mixed operations to the source, and measures how long the syncer needs for them once it
 * continues. Before or after that, measures the same operations as bulk writes to another database of the destination, while
 * nothing else runs.
 */
export async function measureBacklog(
  ground: ChangesGround,
  events: number,
  order: Order,
): Promise<BacklogResult> {
  const { source, destination, syncer } = ground;
  const rows = source.db('bench').collection<LoadDocument>('rows');
  const floorRows = destination.db('bench_floor').collection<LoadDocument>('rows');
  await floorRows.drop();
  const before = await rows.find().toArray();
  await floorRows.insertMany(before);
  await pause(500);
  const lists = ground.loads.map((load) =>
    Array.from({ length: Math.ceil(events / writers) }, (): LoadOperation => load.next()),
  );
  await syncer.kill('SIGSTOP');
  const {
    syncer: syncerPids,
    source: sourcePids,
    destination: destinationPids,
    bench,
  } = ground.pids();
  const measureFloor = async (): Promise<BacklogResult['floorCost']> =>
    await costOf({ destination: destinationPids, bench }, async () => {
      await writeInBulk(floorRows, lists);
    });
  const floorBefore = order === 'bulk writes first' ? await measureFloor() : undefined;
  await writeInBulk(rows, lists);
  const count = lists.flat().length;
  const expected = await rows.estimatedDocumentCount();
  const there = destination.db('bench').collection('rows');
  const already = (await there.estimatedDocumentCount()) - before.length;
  if (already !== 0) throw new Error(`the destination is ahead by ${already} documents`);
  const marker = `backlog-${Date.now()}`;
  await source.db('bench').collection<{ _id: string }>('markers').insertOne({ _id: marker });
  await pause(2_000);
  const applyCost = await costOf(
    { syncer: syncerPids, source: sourcePids, destination: destinationPids },
    async () => {
      await syncer.kill('SIGCONT');
      const markers = destination.db('bench').collection<{ _id: string }>('markers');
      while (
        (await there.estimatedDocumentCount()) !== expected ||
        (await markers.findOne({ _id: marker }, { readConcern: 'local' })) === null
      )
        await pause(20);
    },
  );
  const floorCost = floorBefore ?? (await measureFloor());
  return {
    events: count,
    floorPerSecond: Math.round(count / floorCost.seconds),
    eventsPerSecond: Math.round(count / applyCost.seconds),
    floorCost,
    applyCost,
  };
}
