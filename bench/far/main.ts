// Measures how fast a backlog of changes is applied over links with delays, in few and in many collections, and writes
// bench/results/far.*.
import { loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { machineText, writeResults } from '../results.ts';
import { FollowedCollections, type FarBacklog } from './backlog.ts';
import { startFarGround, type Side } from './ground.ts';
import { plotOf, rowsOf, tableOf } from './report.ts';

const { values } = parseArgs({
  options: {
    members: { type: 'string', default: '1' },
    events: { type: 'string', default: '100000' },
    collections: { type: 'string', default: '1,100,1000' },
    roundTrips: { type: 'string', default: '0,10,50,100' },
    sides: { type: 'string', default: 'destination' },
    rounds: { type: 'string', default: '1' },
  },
});
const numbersOf = (text: string): number[] => text.split(',').map(Number);

const loadBefore = loadOf();
await using ground = await startFarGround(values.members === '3' ? 3 : 1);
const results: FarBacklog[] = [];
for (let round = 1; round <= Number(values.rounds); round++)
  for (const collections of numbersOf(values.collections)) {
    await using followed = await FollowedCollections.start(ground, collections);
    for (const side of values.sides.split(',') as Side[])
      for (const ms of numbersOf(values.roundTrips)) {
        const result = { ...(await followed.measure(Number(values.events), side, ms)), round };
        console.log(JSON.stringify(result));
        results.push(result);
      }
  }
const rows = rowsOf(results);
const table = tableOf(rows);
const at = new Date().toISOString();
const machine = machineText();
const intro =
  `# Far away, and in many collections\n\n${at}, replica sets of ${values.members}, ${values.events} changes (half of them inserts), ` +
  `${values.rounds} round(s), ${machine}. All share the machine. Its load over 15 minutes: ${loadBefore} before, ${loadOf()} after. ` +
  'The syncer is stopped while the changes are written; a proxy delays its connections to the far side.\n\n';
await writeResults('far', {
  md: `${intro}${table}\n![events](far.svg)\n`,
  svg: plotOf(rows),
  json: `${JSON.stringify({ at, machine, members: Number(values.members), results })}\n`,
});
console.log(`\n${table}`);

function loadOf(): string {
  return (loadavg()[2] ?? 0).toFixed(1);
}
