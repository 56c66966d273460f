import { parseArgs } from 'node:util';
import { measureBacklog } from './backlog.ts';
import { measureLive, measureSingleWrites } from './delays.ts';
import { startChangesGround } from './ground.ts';

const { values } = parseArgs({
  options: {
    members: { type: 'string', default: '1' },
    events: { type: 'string', default: '20000' },
    rounds: { type: 'string', default: '3' },
    liveSeconds: { type: 'string', default: '30' },
    singleWrites: { type: 'string', default: '200' },
  },
});

await using ground = await startChangesGround(values.members === '3' ? 3 : 1);
for (let round = 0; round < Number(values.rounds); round++)
  console.log('backlog', JSON.stringify(await measureBacklog(ground, Number(values.events))));
if (Number(values.singleWrites) > 0)
  console.log('single writes', await measureSingleWrites(ground, Number(values.singleWrites)));
if (Number(values.liveSeconds) > 0)
  console.log('live', await measureLive(ground, Number(values.liveSeconds) * 1_000));
