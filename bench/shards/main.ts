// Measures how fast two shards are copied and followed by one instance and by two, and how fast the copy is planned for very
// many, and writes bench/results/shards.*.
import { parseArgs } from 'node:util';
import { MongoClient } from 'mongodb';
import { startShardedCluster } from '../../e2e/ground/sharded/sharded-cluster.ts';
import { startSyncerProcess } from '../../e2e/ground/syncer-process.ts';
import { database, dataSets, documentsIn, loadDataSet } from '../copy/data-sets.ts';
import { usageOf, type Usage } from '../process-usage.ts';
import { machineText, markdownTable, writeResults } from '../results.ts';
import { median } from '../statistics.ts';
import { measureFollowing, type FollowingResult } from './following.ts';
import { measurePlanning } from './planning.ts';

const { values } = parseArgs({
  options: {
    size: { type: 'string', default: '0.3' },
    rounds: { type: 'string', default: '3' },
    documents: { type: 'string', default: '50000' },
    shards: { type: 'string', default: '1000' },
    chunks: { type: 'string', default: '100000' },
  },
});
const size = Number(values.size);
/** The collection that is written to while it is followed. */
const followed = 'followed';
const [set] = dataSets;
if (!set) throw new Error('there are no data sets');

interface ShardsResult {
  readonly instances: number;
  readonly round: number;
  readonly seconds: number;
  /** Of each instance. */
  readonly tools: readonly Usage[];
  readonly following: FollowingResult;
}

const planning = measurePlanning(Number(values.shards), Number(values.chunks));
console.log(JSON.stringify(planning));

await using source = await startShardedCluster({ shards: 2, name: 'from' });
await using destination = await startShardedCluster({ side: 'destination', shards: 2, name: 'to' });
await using sourceClient = new MongoClient(source.uri('admin'));
await using destinationClient = new MongoClient(destination.uri('admin'));
console.log(`loading ${set.name}`);
const megabytes =
  (await loadDataSet(sourceClient, set, size, async () => {
    const admin = sourceClient.db('admin');
    await admin.command({ shardCollection: `${database}.c0`, key: { _id: 'hashed' } });
  })) / 1e6;

const results: ShardsResult[] = [];
for (let round = 1; round <= Number(values.rounds); round++) {
  for (const ids of [['all'], source.shards]) {
    const result = { instances: ids.length, round, ...(await copyBy(ids)) };
    console.log(JSON.stringify(result));
    results.push(result);
  }
}
const rows = [1, source.shards.length].map((instances) => {
  const runs = results.filter((result) => result.instances === instances);
  const seconds = median(runs.map((run) => run.seconds));
  const each = runs.flatMap(({ tools }) => tools);
  const total = runs.map(({ tools }) => tools.reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0));
  return [
    instances,
    seconds.toFixed(1),
    (megabytes / seconds).toFixed(1),
    median(total).toFixed(1),
    median(each.map(({ cpuSeconds }) => cpuSeconds)).toFixed(1),
    Math.max(...each.map(({ peakMebibytes }) => peakMebibytes)).toFixed(0),
    ...followingCells(runs.map(({ following }) => following)),
  ];
});
const head = [
  'instances',
  'copy: s',
  'MB/s',
  'CPU s of all',
  'CPU s of each',
  'MiB of each',
  'following: events/s',
  'CPU µs an event of all',
  'of the source, its load too',
];
const table = markdownTable(head, rows);
const at = new Date().toISOString();
const machine = machineText();
const intro =
  `# Copying shards\n\n${at}, two shards to two, ${megabytes.toFixed(0)} MB of the set ${set.name}, ${values.rounds} round(s), ` +
  `${machine}, router: ${source.routerKind}. All share the machine.\n\n`;
const plan =
  `\nPlanned for ${values.shards} shards of ${values.chunks} chunks each, from made-up samples: ${planning.partitions} partitions, ` +
  `dealt out to ${values.shards} instances in ${planning.seconds.toFixed(2)} s, ${planning.peakMebibytes.toFixed(0)} MiB resident.\n`;
await writeResults('shards', {
  md: `${intro}${table}${plan}`,
  json: `${JSON.stringify({ at, size, machine, planning, results }, undefined, 2)}\n`,
});
console.log(`\n${table}${plan}`);

function followingCells(runs: readonly FollowingResult[]): readonly string[] {
  const of = (figure: (run: FollowingResult) => number): string =>
    median(runs.map(figure)).toFixed(0);
  return [
    of(({ events, seconds }) => events / seconds),
    of(({ events, toolCpuSeconds }) => (toolCpuSeconds * 1e6) / events),
    of(({ events, sourceCpuSeconds }) => (sourceCpuSeconds * 1e6) / events),
  ];
}

/** Lets instances of these names copy the set to an empty destination, and follow a load. */
async function copyBy(ids: readonly string[]): Promise<Omit<ShardsResult, 'instances' | 'round'>> {
  for (const name of [database, 'clustersync_internal'])
    await destinationClient.db(name).dropDatabase();
  await sourceClient.db(database).dropCollection(followed);
  await sourceClient
    .db('admin')
    .command({ shardCollection: `${database}.${followed}`, key: { _id: 'hashed' } });
  await using stack = new AsyncDisposableStack();
  const instances = await Promise.all(
    ids.map(async (id, instance) =>
      stack.use(
        await startSyncerProcess({
          cluster0: source.uri('syncer'),
          cluster1: destination.uri('syncer'),
          // As the operator starts them.
          options: {
            ...(ids.length === 1 ? { id } : { ids: ids.join(','), instance }),
            logLevel: 'info',
          },
        }),
      ),
    ),
  );
  let seconds = 0;
  const tools = new Array<Usage>(ids.length);
  const run = async (): Promise<void> => {
    const startedAt = performance.now();
    await Promise.all(
      instances.map(async (instance) => {
        await instance.start({ source: 'cluster0', destination: 'cluster1' });
        await instance.waitFor(({ canCommit }) => canCommit, { deadlineMs: 1_800_000 });
      }),
    );
    seconds = (performance.now() - startedAt) / 1_000;
  };
  const watched = instances.reduce<() => Promise<void>>(
    (inner, { pid }, index) =>
      async () => {
        tools[index] = await usageOf(() => [pid], inner);
      },
    run,
  );
  await watched();
  const copied = await destinationClient.db(database).collection('c0').countDocuments();
  if (set && copied !== documentsIn(set, size)) throw new Error(`${copied} documents were copied`);
  const following = await measureFollowing(source, sourceClient, instances, {
    db: database,
    coll: followed,
    documents: Number(values.documents),
  });
  return { seconds, tools, following };
}
