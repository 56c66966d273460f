import { syncer } from '../copy/contenders.ts';
import { dataSets, loadDataSet } from '../copy/data-sets.ts';
import { measureCopy } from '../copy/measure.ts';
import type { FarGround, Side } from './ground.ts';

/** A copy over a link with a delay. */
export interface FarCopy {
  readonly set: string;
  readonly farSide: Side;
  readonly roundTripMs: number;
  readonly round: number;
  readonly seconds: number;
  readonly megabytesPerSecond: number;
  readonly peakMebibytes: number;
}

const contender = { name: 'clustersync', prepare: syncer('afterDataCopy') };

/** Copies a data set over links with each of the round trips, in turn. */
export async function* measureFarCopies(
  ground: FarGround,
  setName: string,
  { size, rounds, roundTripsMs, farSides }: FarCopyPlan,
): AsyncGenerator<FarCopy> {
  const set = dataSets.find(({ name }) => name === setName);
  if (!set) throw new Error(`there is no data set ${setName}`);
  const { clients, links } = ground;
  const megabytes = (await loadDataSet(clients.source, set, size)) / 1e6;
  for (let round = 1; round <= rounds; round++)
    for (const farSide of farSides)
      for (const roundTripMs of roundTripsMs) {
        await links[farSide].setRoundTrip(roundTripMs);
        const task = { set, size, megabytes, round };
        const { seconds, tool } = await measureCopy(ground, contender, task);
        await links[farSide].setRoundTrip(0);
        yield {
          ...{ set: setName, farSide, roundTripMs, round, seconds },
          megabytesPerSecond: Math.round(megabytes / seconds),
          peakMebibytes: Math.round(tool.peakMebibytes),
        };
      }
}

/** What to measure. */
export interface FarCopyPlan {
  /** Of the data set's full size. */
  readonly size: number;
  readonly rounds: number;
  readonly roundTripsMs: readonly number[];
  readonly farSides: readonly Side[];
}
