// Measures how fast many small collections are created and copied, beside a program that only creates them, and writes
// bench/results/collections.*.
import { parseArgs } from 'node:util';
import { createGuardedFolder } from '../../e2e/ground/guarded-folder.ts';
import { buildFloor } from '../build-floor.ts';
import { emptyDestination, startCopyGround } from '../copy/measure.ts';
import { tooManyFiles } from '../open-files.ts';
import { machineText, writeResults } from '../results.ts';
import { contendersWith, type CollectionsResult } from './contenders.ts';
import { assertLoaded, loadCollections } from './load.ts';
import { tableOf } from './report.ts';

const { values } = parseArgs({
  options: {
    collections: { type: 'string', default: '10000' },
    rounds: { type: 'string', default: '1' },
    /** Beginnings of their names, comma-separated. */
    contenders: { type: 'string', default: '' },
  },
});
const count = Number(values.collections);
const obstacle = tooManyFiles(count, 3);
if (obstacle !== undefined) throw new Error(obstacle);
const names = values.contenders.split(',');

await using folder = await createGuardedFolder();
const floor = await buildFloor(folder);
const contenders = Object.entries(contendersWith(floor)).filter(([name]) =>
  names.some((begin) => name.startsWith(begin)),
);

await using ground = await startCopyGround();
console.log(`loading ${count} collections`);
await loadCollections(ground.clients.source, count);
const results: CollectionsResult[] = [];
for (let round = 1; round <= Number(values.rounds); round++) {
  for (const [contender, run] of contenders) {
    await emptyDestination(ground.clients.destination);
    const result = { contender, ...(await run(ground, count)) };
    await assertLoaded(ground.clients.destination, count);
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
