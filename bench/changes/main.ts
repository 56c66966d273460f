// Measures how fast changes are applied, each figure with its floor, and writes bench/results/changes.*.
import { loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { machineText, writeResults } from '../results.ts';
import { measureBacklog } from './backlog.ts';
import { measureLive, measureSingleWrites } from './delays.ts';
import { startChangesGround } from './ground.ts';
import { plotOf, textOf, type ChangesRound } from './report.ts';

const { values } = parseArgs({
  options: {
    members: { type: 'string', default: '1' },
    events: { type: 'string', default: '200000' },
    rounds: { type: 'string', default: '3' },
    liveSeconds: { type: 'string', default: '30' },
    /** For all rounds together. */
    singleWrites: { type: 'string', default: '200' },
  },
});
const roundCount = Number(values.rounds);

await using ground = await startChangesGround(values.members === '3' ? 3 : 1);
const rounds: ChangesRound[] = [];
for (let round = 0; round < roundCount; round++) {
  const loadAverage = loadavg()[0] ?? 0;
  const order = round % 2 === 0 ? 'bulk writes first' : 'applying first';
  const backlog = await measureBacklog(ground, Number(values.events), order);
  console.log('backlog', JSON.stringify(backlog));
  const count = Math.ceil(Number(values.singleWrites) / roundCount);
  const singleWrites = await measureSingleWrites(ground, count);
  const live = await measureLive(ground, Number(values.liveSeconds) * 1_000);
  console.log(`live: ${live.operationsPerSecond} operations/s, ${live.catchUpMs.toFixed(0)} ms`);
  rounds.push({ loadAverage, backlog, singleWrites, live });
  // After each round, so that the results of a run that is interrupted are not lost.
  const results = {
    at: new Date().toISOString(),
    machine: machineText(),
    members: Number(values.members),
    rounds,
  };
  const text = textOf(results);
  await writeResults('changes', {
    md: `${text}\n![changes](changes.svg)\n`,
    svg: plotOf(results),
    json: `${JSON.stringify(results)}\n`,
  });
  if (rounds.length === roundCount) console.log(`\n${text}`);
}
