/** The variables of the environment that choose seeds. */
type SeedVariables = Readonly<Partial<Record<'SEED' | 'SEEDS' | 'SEED_DATE', string>>>;

/**
 * What seeds are chosen by stays the same for a seed of the day, as whether it is even: it differs from the one whose place it takes
 * by a multiple of this.
 */
const period = 6_000;

/** The day whose seeds are taken, as `2026-11-27`: by the clock, in UTC, or by `SEED_DATE`. */
export function seedDate({ SEED_DATE }: SeedVariables = process.env, now = new Date()): string {
  return SEED_DATE ?? now.toISOString().slice(0, 10);
}

/**
 * The seeds of a random test: one by its number with `SEED=17`, the first 100 with `SEEDS=100`; else the given ones, but a third of
 * them gives way to seeds of the day, so that each day tries others.
 * @param kept - those of the given ones that have shown something: they never give way.
 */
export function chosenSeeds(
  byDefault: readonly number[],
  kept: readonly number[] = [],
  variables: SeedVariables = process.env,
): readonly number[] {
  const { SEED, SEEDS } = variables;
  if (SEED !== undefined) return [Number(SEED)];
  if (SEEDS !== undefined) return firstSeeds(Number(SEEDS));
  const day = Number(seedDate(variables).replaceAll('-', '').slice(2));
  if (!Number.isSafeInteger(day)) throw new Error('SEED_DATE is a day, as 2026-11-27');
  let index = 0;
  return byDefault.map((seed) => {
    if (kept.includes(seed)) return seed;
    return index++ % 3 === 1 ? day * period + seed : seed;
  });
}

/** The seeds from 1 on. */
export function firstSeeds(count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => index + 1);
}
