// Measures how fast data sets are copied over links with delays, and how fast a backlog of changes is applied over them, in few
// and in many collections; writes bench/results/far.*.
import { parseArgs } from 'node:util';
import { loadText, machineText, writeResults } from '../results.ts';
import { FollowedCollections, type FarBacklog } from './backlog.ts';
import { measureFarCopies, type FarCopy } from './copy.ts';
import { startFarGround, type Side } from './ground.ts';
import { backlogTable, copyTable, plotOf } from './report.ts';
import { shapeNamed, shapes } from './shapes.ts';

const { values } = parseArgs({
  options: {
    members: { type: 'string', default: '1' },
    /** Names of data sets, as for the copy; empty for none. */
    sets: { type: 'string', default: 'large,small' },
    size: { type: 'string', default: '0.5' },
    events: { type: 'string', default: '200000' },
    /** Numbers of collections with changes; empty for none. */
    collections: { type: 'string', default: '1,100,1000' },
    /** What the changes are, see shapes.ts; all but many documents only in the first number of collections. */
    shapes: { type: 'string', default: shapes.join(',') },
    roundTrips: { type: 'string', default: '0,10,50,100' },
    sides: { type: 'string', default: 'destination' },
    rounds: { type: 'string', default: '1' },
  },
});
const listOf = (text: string): string[] => text.split(',').filter((part) => part !== '');
const rounds = Number(values.rounds);
const roundTripsMs = listOf(values.roundTrips).map(Number);
const farSides = listOf(values.sides) as Side[];
const shapesOfFirst = listOf(values.shapes).map(shapeNamed);

const loadBefore = loadText();
await using ground = await startFarGround(values.members === '3' ? 3 : 1);
const copies: FarCopy[] = [];
const plan = { size: Number(values.size), rounds, roundTripsMs, farSides };
for (const set of listOf(values.sets))
  for await (const copy of measureFarCopies(ground, set, plan)) {
    console.log(JSON.stringify(copy));
    copies.push(copy);
  }
const backlogs: FarBacklog[] = [];
for (const [index, collections] of listOf(values.collections).map(Number).entries()) {
  const measured = index === 0 ? shapesOfFirst : ['many documents' as const];
  await using followed = await FollowedCollections.start(ground, collections);
  for (let round = 1; round <= rounds; round++)
    for (const side of farSides)
      for (const ms of roundTripsMs)
        for (const shape of measured) {
          const load = { shape, events: Number(values.events) };
          const backlog = { ...(await followed.measure(load, side, ms)), round };
          console.log(JSON.stringify(backlog));
          backlogs.push(backlog);
        }
}
const tables = `${copyTable(copies)}\n${backlogTable(backlogs)}`;
const at = new Date().toISOString();
const machine = machineText();
const intro =
  `# Far away, and in many collections\n\n${at}, replica sets of ${values.members}, SIZE=${values.size}, ${values.events} changes ` +
  `(half of them inserts), ${rounds} round(s), ${machine}. All share the machine. Its load over 15 minutes: ${loadBefore} before, ` +
  `${loadText()} after. The syncer is stopped while the changes are written; a proxy delays its connections to the far side.\n\n`;
await writeResults('far', {
  md: `${intro}${tables}\n![rates](far.svg)\n`,
  svg: plotOf(copies, backlogs),
  json: `${JSON.stringify({ at, machine, members: Number(values.members), copies, backlogs })}\n`,
});
console.log(`\n${tables}`);
