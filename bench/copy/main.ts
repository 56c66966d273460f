// Measures how fast data sets are copied, by all contenders in turn, and writes bench/results/copy.*.
import { totalmem } from 'node:os';
import { parseArgs } from 'node:util';
import { createGuardedFolder } from '../../e2e/ground/guarded-folder.ts';
import { buildFloor } from '../build-floor.ts';
import { loadText, machineText, writeResults } from '../results.ts';
import { findContenders } from './contenders.ts';
import { dataSets, loadDataSet } from './data-sets.ts';
import { measureCopy, startCopyGround, type CopyResult } from './measure.ts';
import { plotOf, rowsOf, tableOf } from './report.ts';

const { values } = parseArgs({
  options: {
    size: { type: 'string', default: '1' },
    rounds: { type: 'string', default: '1' },
    /** Names, comma-separated. */
    sets: { type: 'string', default: dataSets.map(({ name }) => name).join(',') },
    /** Prefixes of their names, comma-separated. */
    contenders: { type: 'string', default: '' },
  },
});
const size = Number(values.size);
const names = values.contenders.split(',');

await using folder = await createGuardedFolder();
const floor = await buildFloor(folder);
const all = await findContenders(floor);
const contenders = all.filter(({ obstacle, name }) => {
  if (obstacle !== undefined) console.log(`not measured: ${name}: ${obstacle}`);
  return obstacle === undefined && names.some((begin) => name.startsWith(begin));
});

const loadBefore = loadText();
await using ground = await startCopyGround();
const results: CopyResult[] = [];
for (const set of dataSets.filter(({ name }) => values.sets.split(',').includes(name))) {
  console.log(`loading ${set.name}`);
  const megabytes = (await loadDataSet(ground.clients.source, set, size)) / 1e6;
  for (let round = 1; round <= Number(values.rounds); round++) {
    for (const contender of contenders) {
      const result = await measureCopy(ground, contender, { set, size, megabytes, round });
      console.log(`${set.name}, ${contender.name}: ${result.seconds.toFixed(1)} s`);
      results.push(result);
    }
  }
}
const rows = rowsOf(results);
const machine = `${machineText()}, ${(totalmem() / 2 ** 30).toFixed(0)} GiB`;
const at = new Date().toISOString();
const table = tableOf(rows);
const intro = `# Copying\n\n${at}, SIZE=${size}, ${values.rounds} round(s), ${machine}. Source, destination and contender share the machine. Its load over 15 minutes: ${loadBefore} before, ${loadText()} after.\n\n`;
await writeResults('copy', {
  md: `${intro}${table}\n![seconds](copy.svg)\n`,
  svg: plotOf(rows),
  json: `${JSON.stringify({ at, size, machine, results }, undefined, 2)}\n`,
});
console.log(`\n${table}`);
