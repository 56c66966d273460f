/** The seeds of a random test: one by its number with `SEED=17`, the first 100 with `SEEDS=100`, else the given ones. */
export function chosenSeeds(byDefault: readonly number[]): readonly number[] {
  const { SEED, SEEDS } = process.env;
  if (SEED !== undefined) return [Number(SEED)];
  return SEEDS === undefined ? byDefault : firstSeeds(Number(SEEDS));
}

/** The seeds from 1 on. */
export function firstSeeds(count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => index + 1);
}
