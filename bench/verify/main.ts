// Measures how fast two replica sets are compared, against a plain comparison with two cursors, and what comparing again costs when
// one document in a hundred has changed: neighbouring documents, and documents as far apart as possible, against a plain look-up
// of these. Writes bench/results/verify.*.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { parseArgs } from 'node:util';
import type { Document, MongoClient } from 'mongodb';
import { fileURLToPath } from 'node:url';
import { until } from '../../e2e/ground/until.ts';
import { forEachConcurrently } from '../../service/concurrency.ts';
import { VerifierProcess } from '../../e2e/ground/verifier-process.ts';
import {
  dataSets,
  documentsIn,
  loadDataSet,
  namespacesOf,
  type DataSet,
} from '../copy/data-sets.ts';
import { startCopyGround, type CopyGround } from '../copy/measure.ts';
import { usageOf, type Usage } from '../process-usage.ts';
import { machineText, markdownTable, writeResults } from '../results.ts';
import { median } from '../statistics.ts';

/** What one contender took for a data set. */
interface VerifyResult {
  readonly set: string;
  readonly contender: string;
  readonly seconds: number;
  readonly documentsPerSecond: number;
  readonly tool: Usage;
}

const floorProgram = fileURLToPath(new URL('floor.ts', import.meta.url));
const deadlineMs = 3_600_000;
const ours = 'clustersync';
const together = 'clustersync, 1 % changed, together';
const apart = 'clustersync, 1 % changed, apart';
const lookUp = 'floor, 1 % changed, apart';
/** How many ids the floor looks up at a time, and how many look-ups it runs in parallel. */
const idsAtOnce = 1000;
const lookUpsAtOnce = 4;

const { values } = parseArgs({
  options: {
    size: { type: 'string', default: '1' },
    rounds: { type: 'string', default: '1' },
    sets: { type: 'string', default: 'indexed,small,large' },
  },
});
const size = Number(values.size);
const names = values.sets.split(',');
const results: VerifyResult[] = [];
for (const set of dataSets.filter(({ name }) => names.includes(name))) {
  await using ground = await startCopyGround();
  console.log(`loading ${set.name}`);
  await loadDataSet(ground.clients.source, set, size);
  await copySet(ground, set);
  for (let round = 1; round <= Number(values.rounds); round++) {
    const count = documentsIn(set, size);
    const near = { number: { $gte: count / 2, $lt: count / 2 + count / 100 } };
    const far = { $expr: { $eq: [{ $mod: ['$number', 100] }, 0] } };
    const found = [
      await runFloor(ground, set),
      ...(await runVerifier(ground, set, together, near)),
      ...(await runVerifier(ground, set, apart, far)),
      await runLookUp(ground, set, far),
    ];
    for (const result of found) console.log(JSON.stringify(result));
    results.push(...found);
  }
}
const at = new Date().toISOString();
const machine = machineText();
const intro = `# Verifying\n\n${at}, size ${size}, ${values.rounds} round(s), ${machine}. Both servers and the contender share the machine. The metadata store is the destination.\n\n`;
const table = tableOf();
await writeResults('verify', {
  md: `${intro}${table}`,
  json: `${JSON.stringify({ at, size, machine, results }, undefined, 2)}\n`,
});
console.log(`\n${table}`);

/** Creates the same documents and indexes on the destination. */
async function copySet({ clients }: CopyGround, set: DataSet): Promise<void> {
  for (const namespace of namespacesOf(set)) {
    const [db = '', coll = ''] = namespace.split('.');
    const copies = clients.destination.db(db).collection(coll);
    let batch: Document[] = [];
    for await (const document of clients.source.db(db).collection(coll).find()) {
      batch.push(document);
      if (batch.length < 1000) continue;
      await copies.insertMany(batch);
      batch = [];
    }
    if (batch.length > 0) await copies.insertMany(batch);
    if (set.indexes.length > 0) await copies.createIndexes(set.indexes.map((key) => ({ key })));
  }
}

function result(set: DataSet, contender: string, seconds: number, tool: Usage): VerifyResult {
  const isAll = contender === 'floor' || contender === ours;
  const documents = namespacesOf(set).length * documentsIn(set, size) * (isAll ? 1 : 0.01);
  const documentsPerSecond = Math.round(documents / seconds);
  return { set: set.name, contender, seconds, documentsPerSecond, tool };
}

async function runFloor({ source, destination }: CopyGround, set: DataSet): Promise<VerifyResult> {
  const env = {
    ...process.env,
    FLOOR_SOURCE: source.uri('admin'),
    FLOOR_DESTINATION: destination.uri('admin'),
    FLOOR_NAMESPACES: namespacesOf(set).join(','),
  };
  const child = spawn(process.execPath, [floorProgram], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const output = text(child.stdout);
  const tool = await usageOf(
    () => [child.pid],
    async () => {
      await once(child, 'exit');
    },
  );
  if (child.exitCode !== 0) throw new Error(`the floor ended with ${String(child.exitCode)}`);
  const { documents, seconds } = JSON.parse(await output) as Record<
    'documents' | 'seconds',
    number
  >;
  if (documents !== documentsIn(set, size) * namespacesOf(set).length)
    throw new Error(`the floor has compared ${documents} documents`);
  return result(set, 'floor', seconds, tool);
}

/** The first pass, and the next one after one document in a hundred has changed on both sides. */
async function runVerifier(
  ground: CopyGround,
  set: DataSet,
  again: string,
  changed: Document,
): Promise<VerifyResult[]> {
  const { source, destination } = ground;
  await using verifier = await VerifierProcess.start({
    uris: { srcURI: source.uri('syncer'), destURI: destination.uri('admin') },
    options: { logLevel: 'info', clean: 'true' },
  });
  const pass = async (contender: string, number: number): Promise<VerifyResult> => {
    let seconds = 0;
    const tool = await usageOf(
      () => [verifier.pid],
      async () => {
        await until(
          contender,
          async () => {
            seconds = passSeconds(await verifier.log(), number) ?? 0;
            return seconds > 0;
          },
          deadlineMs,
        );
      },
    );
    return result(set, contender, seconds, tool);
  };
  await verifier.post('check');
  const first = await pass(ours, 0);
  // The pause before the next pass is as long as the first pass took, which is enough for this.
  await change(ground, set, changed);
  return [first, await pass(again, 1)];
}

/** Changes the documents that a filter finds, by their ids, which is fast. */
async function change({ clients }: CopyGround, set: DataSet, filter: Document): Promise<void> {
  for (const namespace of namespacesOf(set)) {
    const ids = await idsOf(clients.source, namespace, filter);
    const [db = '', coll = ''] = namespace.split('.');
    await Promise.all(
      Object.values(clients).map(async (client) => {
        const query = { _id: { $in: ids } } as Document;
        await client
          .db(db)
          .collection(coll)
          .updateMany(query, { $inc: { changed: 1 } });
      }),
    );
  }
}

/** In ascending order. */
async function idsOf(client: MongoClient, namespace: string, filter: Document): Promise<unknown[]> {
  const [db = '', coll = ''] = namespace.split('.');
  const options = { projection: { _id: 1 }, sort: { _id: 1 } } as const;
  const found = await client.db(db).collection(coll).find(filter, options).toArray();
  return found.map(({ _id }): unknown => _id);
}

/** How long it takes to look up some documents on both sides, in `_id` order, as the verifier does. */
async function runLookUp(
  { clients }: CopyGround,
  set: DataSet,
  filter: Document,
): Promise<VerifyResult> {
  const lists: { db: string; coll: string; ids: unknown[] }[] = [];
  for (const namespace of namespacesOf(set)) {
    const [db = '', coll = ''] = namespace.split('.');
    const ids = await idsOf(clients.source, namespace, filter);
    for (let first = 0; first < ids.length; first += idsAtOnce)
      lists.push({ db, coll, ids: ids.slice(first, first + idsAtOnce) });
  }
  const startedAt = performance.now();
  const tool = await usageOf(
    () => [process.pid],
    async () => {
      await forEachConcurrently(lists, lookUpsAtOnce, async ({ db, coll, ids }) => {
        const [one, other] = await Promise.all(
          Object.values(clients).map(async (client) => {
            const query = { _id: { $in: ids } } as Document;
            return await client.db(db).collection(coll).find(query, { raw: true }).toArray();
          }),
        );
        if (one?.length !== ids.length || other?.length !== ids.length)
          throw new Error(`${db}.${coll}: not all were found`);
      });
    },
  );
  return result(set, lookUp, (performance.now() - startedAt) / 1000, tool);
}

/** How long a pass took, according to the log; undefined until it has ended. */
function passSeconds(log: string, generation: number): number | undefined {
  for (const line of log.split('\n')) {
    if (!line.includes('"msg":"pass ended"') || !line.endsWith('}')) continue;
    const entry = JSON.parse(line) as { generation: number; tookMs: number; failed: number };
    if (entry.failed > 0) throw new Error(`differences, of which there are none: ${line}`);
    if (entry.generation === generation) return Math.max(1, entry.tookMs) / 1000;
  }
  return undefined;
}

function tableOf(): string {
  const rows = [...new Set(results.map(({ set }) => set))].flatMap((set) =>
    ['floor', ours, together, apart, lookUp].map((contender) => {
      const of = (name: string): VerifyResult[] =>
        results.filter((each) => each.set === set && each.contender === name);
      const seconds = (name: string): number => median(of(name).map((each) => each.seconds));
      const own = of(contender);
      return [
        set,
        contender,
        seconds(contender).toFixed(2),
        (seconds(contender) / seconds('floor')).toFixed(2),
        median(own.map(({ documentsPerSecond }) => documentsPerSecond)).toFixed(0),
        median(own.map(({ tool }) => tool.cpuSeconds)).toFixed(1),
        // The look-up runs in this program, which also holds everything else.
        contender === lookUp
          ? ''
          : Math.max(...own.map(({ tool }) => tool.peakMebibytes)).toFixed(0),
      ];
    }),
  );
  const head = ['set', 'contender', 's', 'over floor', 'documents/s', 'tool CPU s', 'tool MiB'];
  return markdownTable(head, rows, 2);
}
