import { setFlagsFromString } from 'node:v8';

/** Leaves it to V8. */
const ownGrowthPercent = 0;

/**
 * Runs work while V8 collects garbage more rarely. Documents that are read are memory outside V8's heap, and because of that V8
 * (Node 24) collects every 20 MB, going through all that the program has loaded: a quarter of the CPU time of a copy
 * (decision 0016). Only one such work at a time.
 * @param growthPercent - how much may be added to what lives on before V8 collects garbage again, in per cent of that.
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
