// Measures what a repair costs, against the first copy of the same data in the same run: of a data set of which one document in a
// thousand has changed while the sync was paused, until the oplog had discarded the changes, and of one that has not changed; and a
// start from a restored copy in which one in a thousand differs. Bytes are those that the servers have sent and received. Writes
// bench/results/repair.*.
import { parseArgs } from 'node:util';
import type { MongoClient } from 'mongodb';
import { rollOver } from '../../e2e/ground/roll-over.ts';
import { startSyncerProcess, type SyncerProcess } from '../../e2e/ground/syncer-process.ts';
import { until } from '../../e2e/ground/until.ts';
import { database, dataSets, loadDataSet, namespacesOf, type DataSet } from '../copy/data-sets.ts';
import { startCopyGround, type CopyGround } from '../copy/measure.ts';
import { machineText, markdownTable, writeResults } from '../results.ts';

/** What one way of bringing the destination to the state of the source took. */
interface RepairResult {
  readonly set: string;
  readonly way: string;
  readonly seconds: number;
  readonly megabytes: number;
}

const deadlineMs = 3_600_000;

/** The smallest oplog that a server takes. */
const smallestOplogMB = 990;

/** What is written to fill the oplog is not synced. */
const options = {
  ...{ source: 'cluster0', destination: 'cluster1' },
  includeNamespaces: [{ database }],
} as const;

const oneInAThousand = { $expr: { $eq: [{ $mod: ['$number', 1_000] }, 0] } };

const { values } = parseArgs({
  options: {
    size: { type: 'string', default: '1' },
    rounds: { type: 'string', default: '1' },
    sets: { type: 'string', default: 'indexed,small,large' },
  },
});
const size = Number(values.size);
const names = values.sets.split(',');
const results: RepairResult[] = [];
for (const set of dataSets.filter(({ name }) => names.includes(name))) {
  for (let round = 1; round <= Number(values.rounds); round++) {
    await using ground = await startCopyGround();
    console.log(`loading ${set.name}`);
    await loadDataSet(ground.clients.source, set, size);
    results.push(...(await measure(ground, set)));
  }
}
const at = new Date().toISOString();
const machine = machineText();
const intro = `# Repairing\n\n${at}, size ${size}, ${values.rounds} round(s), ${machine}. Both servers and the syncer share the machine. From the command to canCommit; bytes are those that both servers have sent and received meanwhile.\n\n`;
const table = tableOf();
await writeResults('repair', {
  md: `${intro}${table}`,
  json: `${JSON.stringify({ at, size, machine, results }, undefined, 2)}\n`,
});
console.log(`\n${table}`);

async function measure(ground: CopyGround, set: DataSet): Promise<RepairResult[]> {
  const { clients, source, destination } = ground;
  await using syncer = await startSyncerProcess({
    cluster0: source.uri('syncer'),
    cluster1: destination.uri('syncer'),
    options: { logLevel: 'info' },
  });
  const found: RepairResult[] = [];
  let repairs = 0;
  const timed = async (
    way: string,
    begin: () => Promise<unknown>,
    isChanged = false,
  ): Promise<void> => {
    const before = await traffic(ground);
    const startMs = performance.now();
    await begin();
    const { reconciliation } = await syncer.waitFor(
      (progress) => progress.canCommit && progress.repairs === repairs,
      { deadlineMs },
    );
    const seconds = (performance.now() - startMs) / 1000;
    const megabytes = ((await traffic(ground)) - before) / 1e6;
    if (isChanged !== (reconciliation?.changedDocuments ?? 0) > 0)
      throw new Error(`${way}: ${JSON.stringify(reconciliation)}`);
    found.push({ set: set.name, way, seconds, megabytes });
    console.log(`${set.name}, ${way}: ${seconds.toFixed(1)} s, ${megabytes.toFixed(1)} MB`);
  };
  const repair = async (
    way: string,
    comparison: 'hashes' | 'bytes',
    isChanged = false,
  ): Promise<void> => {
    repairs += 1;
    const begin = async (): Promise<void> => {
      await posted(syncer, 'repair', { comparison });
    };
    await timed(way, begin, isChanged);
  };
  await timed('first copy', async () => {
    await syncer.start(options);
  });
  await repair('nothing has changed, by hashes', 'hashes');
  await posted(syncer, 'pause', {});
  await change(clients.source, set);
  await discardOplog(clients.source);
  await posted(syncer, 'resume', {});
  await until(
    'the position is lost',
    async () => String((await syncer.getProgress()).body['error']).startsWith('OplogRolledOver'),
    deadlineMs,
  );
  await repair(
    'one in a thousand has changed, and the oplog was discarded, by hashes',
    'hashes',
    true,
  );
  await repair('nothing has changed, by bytes', 'bytes');
  // Without its state, the copy is like one that somebody has restored there.
  await posted(syncer, 'reset', {});
  await syncer.waitFor(({ state }) => state === 'IDLE', { deadlineMs });
  await change(clients.destination, set);
  repairs = 0;
  const begin = async (): Promise<void> => {
    await syncer.start({ ...options, initialData: 'Present' });
  };
  await timed('a restored copy, one in a thousand differs', begin, true);
  return found;
}

async function posted(syncer: SyncerProcess, command: string, body: object): Promise<void> {
  const { status, body: answer } = await syncer.post(command, body);
  if (status !== 200) throw new Error(`${command}: ${JSON.stringify(answer)}`);
}

/** One document in a thousand: as far apart as possible, which is the worst case for comparing by ranges. */
async function change(client: MongoClient, set: DataSet): Promise<void> {
  for (const namespace of namespacesOf(set)) {
    const [db = '', coll = ''] = namespace.split('.');
    await client
      .db(db)
      .collection(coll)
      .updateMany(oneInAThousand, { $inc: { changes: 1 } });
  }
}

/** Makes the server discard everything that is in its oplog now. */
async function discardOplog(client: MongoClient): Promise<void> {
  await client.db('admin').command({ replSetResizeOplog: 1, size: smallestOplogMB });
  await rollOver({ client }, deadlineMs);
}

/** Bytes that both servers have sent and received. */
async function traffic({ clients }: CopyGround): Promise<number> {
  let bytes = 0;
  for (const client of [clients.source, clients.destination]) {
    const { network } = await client.db('admin').command({ serverStatus: 1 });
    const { bytesIn, bytesOut } = network as { bytesIn: number; bytesOut: number };
    bytes += bytesIn + bytesOut;
  }
  return bytes;
}

function tableOf(): string {
  const firstOf = ({ set }: RepairResult): RepairResult | undefined =>
    results.find((one) => one.set === set && one.way === 'first copy');
  const percent = (part: number, whole = NaN): string => `${Math.round((100 * part) / whole)} %`;
  const rows = results.map((one) => {
    const { set, way, seconds, megabytes } = one;
    const first = firstOf(one);
    return [
      ...[set, way, seconds.toFixed(1), percent(seconds, first?.seconds)],
      ...[megabytes.toFixed(1), percent(megabytes, first?.megabytes)],
    ];
  });
  return markdownTable(
    ['set', 'way', 's', 'of the first copy', 'MB', 'of the first copy'],
    rows,
    2,
  );
}
