import { setFlagsFromString } from 'node:v8';

/** Leaves the choice to V8. */
const ownGrowthPercent = 0;

/**
 * Runs work with another choice of how often V8 collects garbage. Documents that are read are memory outside V8's heap, which
 * makes V8 (Node 24) collect every 20 MB, scanning everything that the program has loaded: a quarter of the CPU time of a copy
 * (decision 0016). What holds many small objects instead needs twice the memory where V8 chooses. Only one such work at a time.
 * @param growthPercent - how much the heap may grow before V8 collects garbage again, in percent of the live data.
 */
export async function withHeapGrowth(
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
