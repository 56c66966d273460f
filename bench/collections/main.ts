// Measures how fast many small collections are created and copied, compared with a program that only creates them, and writes
// bench/results/collections.*.
import { parseArgs } from 'node:util';
import { MongoClient } from 'mongodb';
import { createGuardedFolder } from '../../e2e/ground/guarded-folder.ts';
import { fewOpenFiles } from '../../e2e/ground/mongod/few-open-files.ts';
import { startReplicaSet, type ReplicaSet } from '../../e2e/ground/mongod/replica-set.ts';
import { buildFloor } from '../build-floor.ts';
import { machineText, writeResults } from '../results.ts';
import { contendersWith, type CollectionsResult } from './contenders.ts';
import { assertLoaded, loadCollections } from './load.ts';
import { tableOf } from './report.ts';

const { values } = parseArgs({
  options: {
    collections: { type: 'string', default: '10000' },
    rounds: { type: 'string', default: '1' },
    /** Prefixes of their names, comma-separated. */
    contenders: { type: 'string', default: '' },
  },
});
const count = Number(values.collections);
const names = values.contenders.split(',');

await using folder = await createGuardedFolder();
const floor = await buildFloor(folder);
const contenders = Object.entries(contendersWith(floor)).filter(([name]) =>
  names.some((begin) => name.startsWith(begin)),
);

await using source = await startServer('source');
console.log(`loading ${count} collections`);
await withClient(source, async (client) => {
  await loadCollections(client, count);
});
const results: CollectionsResult[] = [];
for (let round = 1; round <= Number(values.rounds); round++) {
  for (const [contender, run] of contenders) {
    // Dropping so many collections takes longer than starting a new server.
    await using destination = await startServer('destination');
    const result = { contender, ...(await run({ source, destination }, count)) };
    await withClient(destination, async (client) => {
      await assertLoaded(client, count);
    });
    console.log(JSON.stringify(result));
    results.push(result);
  }
}
const at = new Date().toISOString();
const machine = machineText();
const intro = `# Many collections\n\n${at}, ${count} collections, ${values.rounds} round(s), ${machine}. Source, destination and contender share the machine.\n\n`;
const table = tableOf(results);
await writeResults('collections', {
  md: `${intro}${table}`,
  json: `${JSON.stringify({ at, count, machine, results }, undefined, 2)}\n`,
});
console.log(`\n${table}`);

async function startServer(name: string): Promise<ReplicaSet> {
  return await startReplicaSet({ members: 1, name, oplogSizeMB: 4096, args: fewOpenFiles });
}

async function withClient(
  set: ReplicaSet,
  run: (client: MongoClient) => Promise<void>,
): Promise<void> {
  const client = new MongoClient(set.uri('admin'));
  try {
    await run(client);
  } finally {
    await client.close();
  }
}
