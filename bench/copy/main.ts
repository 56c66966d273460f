// Measures how fast data sets are copied, by all contenders in turn, and writes bench/results/copy.*.
import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { cpus, loadavg, totalmem } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { createGuardedFolder } from '../../e2e/ground/guarded-folder.ts';
import { findContenders } from './contenders.ts';
import { tooManyFiles } from '../open-files.ts';
import { dataSets, loadDataSet, namespacesOf } from './data-sets.ts';
import { measureCopy, startCopyGround, type CopyResult } from './measure.ts';
import { plotOf, rowsOf, tableOf } from './report.ts';

const { values } = parseArgs({
  options: {
    size: { type: 'string', default: '1' },
    rounds: { type: 'string', default: '1' },
    /** Names, comma-separated. */
    sets: { type: 'string', default: dataSets.map(({ name }) => name).join(',') },
    /** Beginnings of their names, comma-separated. */
    contenders: { type: 'string', default: '' },
  },
});
const size = Number(values.size);
const names = values.contenders.split(',');

await using folder = await createGuardedFolder();
const floor = `${folder.path}/floor`;
await promisify(execFile)('go', ['build', '-o', floor, '.'], {
  cwd: fileURLToPath(new URL('../floor', import.meta.url)),
  env: { ...process.env, CGO_ENABLED: '0' },
});
const all = await findContenders(floor);
const contenders = all.filter(({ obstacle, name }) => {
  if (obstacle !== undefined) console.log(`not measured: ${name}: ${obstacle}`);
  return obstacle === undefined && names.some((begin) => name.startsWith(begin));
});

const loads = [loadOf()];
await using ground = await startCopyGround();
const results: CopyResult[] = [];
for (const set of dataSets.filter(({ name }) => values.sets.split(',').includes(name))) {
  const obstacle = tooManyFiles(namespacesOf(set, size).length, 2 + set.indexes.length);
  if (obstacle !== undefined) {
    console.log(`not measured: ${set.name}: ${obstacle}`);
    continue;
  }
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
loads.push(loadOf());
const rows = rowsOf(results);
const machine = `${cpus().length} cores (${cpus()[0]?.model ?? 'unknown'}), ${(totalmem() / 2 ** 30).toFixed(0)} GiB`;
const at = new Date().toISOString();
const table = tableOf(rows);
const intro = `# Copying\n\n${at}, SIZE=${size}, ${values.rounds} round(s), ${machine}. Source, destination and contender share the machine. Its load over 15 minutes: ${loads.join(' before, ')} after.\n\n`;
const target = fileURLToPath(new URL('../results/', import.meta.url));
await mkdir(target, { recursive: true });
await writeFile(`${target}copy.md`, `${intro}${table}\n![seconds](copy.svg)\n`);
await writeFile(`${target}copy.svg`, plotOf(rows));
await writeFile(
  `${target}copy.json`,
  `${JSON.stringify({ at, size, machine, results }, undefined, 2)}\n`,
);
console.log(`\n${table}`);

function loadOf(): string {
  return (loadavg()[2] ?? 0).toFixed(1);
}
