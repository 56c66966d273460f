// Measures what the syncer moves when servers do not limit it, and writes bench/results/ceiling.*.
import { parseArgs } from 'node:util';
import { loadText, machineText, writeResults } from '../results.ts';
import { CeilingGround, type Moved } from './ground.ts';
import { textOf } from './report.ts';

const { values } = parseArgs({
  options: {
    /** How much each find of a copy returns, in MB. */
    find: { type: 'string', default: '128' },
    events: { type: 'string', default: '100000' },
    /** How often the changes are given again. */
    again: { type: 'string', default: '10' },
    instances: { type: 'string', default: '1,2,4' },
  },
});
const [events, again] = [Number(values.events), Number(values.again)];

await using ground = await CeilingGround.start(Number(values.find) * 1_000_000);
const moved: Moved[] = [];
const profiled: Moved[] = [];

/** After each measurement, so that the results of a run that is interrupted are not lost. */
async function add(one: Moved, to: Moved[]): Promise<void> {
  const { shares: _, ...figures } = one;
  console.log(JSON.stringify(figures));
  to.push(one);
  const results = {
    at: new Date().toISOString(),
    machine: machineText(),
    load: loadText(),
    moved: moved.toSorted((left, right) => left.what.localeCompare(right.what)),
    profiled,
  };
  await writeResults('ceiling', { md: textOf(results), json: `${JSON.stringify(results)}\n` });
}

for (const instances of values.instances.split(',').map(Number)) {
  await add(await ground.copy('small', instances, false), moved);
  await add(await ground.copy('large', instances, false), moved);
  await add(await ground.applyChanges(events, again, instances, false), moved);
  if (instances > 1) continue;
  await add(await ground.copy('small', instances, true), profiled);
  await add(await ground.copy('large', instances, true), profiled);
  await add(await ground.applyChanges(events, again, instances, true), profiled);
}
