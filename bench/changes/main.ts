// Measures how fast changes are applied, beside the same operations as bulk writes, and writes bench/results/changes.*.
import { mkdir, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { measureBacklog, type BacklogResult } from './backlog.ts';
import { measureLive, measureSingleWrites } from './delays.ts';
import { startChangesGround } from './ground.ts';
import { textOf } from './report.ts';

const { values } = parseArgs({
  options: {
    members: { type: 'string', default: '1' },
    events: { type: 'string', default: '200000' },
    rounds: { type: 'string', default: '3' },
    liveSeconds: { type: 'string', default: '30' },
    singleWrites: { type: 'string', default: '200' },
  },
});

await using ground = await startChangesGround(values.members === '3' ? 3 : 1);
const backlogs: BacklogResult[] = [];
for (let round = 0; round < Number(values.rounds); round++) {
  const result = await measureBacklog(ground, Number(values.events));
  console.log('backlog', JSON.stringify(result));
  backlogs.push(result);
}
const singleWrites = await measureSingleWrites(ground, Number(values.singleWrites));
console.log('single writes', JSON.stringify(singleWrites));
const live = await measureLive(ground, Number(values.liveSeconds) * 1_000);
console.log('live', JSON.stringify(live));
const at = new Date().toISOString();
const results = { at, members: Number(values.members), backlogs, singleWrites, live };
const target = fileURLToPath(new URL('../results/', import.meta.url));
await mkdir(target, { recursive: true });
await writeFile(`${target}changes.md`, textOf(results));
await writeFile(`${target}changes.json`, `${JSON.stringify(results, undefined, 2)}\n`);
console.log(`\n${textOf(results)}`);
