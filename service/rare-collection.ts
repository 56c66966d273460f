import { setFlagsFromString } from 'node:v8';

/** Leaves the choice to V8. */
const ownGrowthPercent = 0;

/**
 * Runs work while V8 collects garbage more rarely. Documents that are read are memory outside V8's heap, which makes V8 (Node
 * 24) collect every 20 MB, scanning everything that the program has loaded: a quarter of the CPU time of a copy (decision
 * 0016). Only one such work at a time.
 * @param growthPercent - how much the heap may grow before V8 collects garbage again, in percent of the live data.
 */
export async function collectingRarely(
  growthPercent: number,
  run: () => Promise<void>,
): Promise<void> {
  setGrowth(growthPercent);
  try {
    await run();
  } finally {
    setGrowth(ownGrowthPercent);
  }
}

function setGrowth(percent: number): void {
  setFlagsFromString(`--heap-growing-percent=${percent}`);
}
