// Measures how fast a backlog of changes is applied over links with delays, in few and in many collections, and how fast data
// sets are copied over them; writes bench/results/far.*.
import { parseArgs } from 'node:util';
import { FollowedCollections, type FarBacklog } from './backlog.ts';
import { startFarGround, type Side } from './ground.ts';

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
