/** The variables of the environment that choose seeds and cases. */
type SeedVariables = Readonly<
  Partial<Record<'SEED' | 'SEEDS' | 'SEED_DATE' | 'ALL_CASES', string>>
>;

const millisecondsOfDay = 86_400_000;

/**
 * What seeds are chosen by stays the same for a seed of the day, as whether it is even: it differs from the one whose place it takes
 * by a multiple of this.
 */
const period = 6_000;

/** The day whose seeds are taken, as `2026-11-27`: by the clock, in UTC, or by `SEED_DATE`. */
export function seedDate({ SEED_DATE }: SeedVariables = process.env, now = new Date()): string {
  return SEED_DATE ?? now.toISOString().slice(0, 10);
}

/** Which of the default seeds a test takes. */
export interface SeedChoice {
  /** Those that have shown something: every day, and as they are. */
  readonly kept?: readonly number[];
  /** How many of the others a day takes: see {@link shareOfDay}. Default: all. */
  readonly perDay?: number;
}

/**
 * The seeds of a random test: one by its number with `SEED=17`, the first 100 with `SEEDS=100`; else the share of the day of the given
 * ones, of which a third gives way to seeds of the day, so that each day tries others.
 */
export function chosenSeeds(
  byDefault: readonly number[],
  { kept = [], perDay = byDefault.length }: SeedChoice = {},
  variables: SeedVariables = process.env,
): readonly number[] {
  const { SEED, SEEDS } = variables;
  if (SEED !== undefined) return [Number(SEED)];
  if (SEEDS !== undefined) return firstSeeds(Number(SEEDS));
  const day = Number(seedDate(variables).replaceAll('-', '').slice(2));
  const others = byDefault.filter((seed) => !kept.includes(seed));
  const ofDay = others.map((seed, index) => (index % 3 === 1 ? day * period + seed : seed));
  return [...kept, ...shareOfDay(ofDay, perDay, variables)];
}

/**
 * The cases that a test tries on a day: as many as that, in their order, and the following ones the next day, so that each case has its
 * turn. All with `ALL_CASES=1`. For cases that each take long and resemble one another.
 */
export function shareOfDay<T>(
  cases: readonly T[],
  count: number,
  variables: SeedVariables = process.env,
): readonly T[] {
  if (variables.ALL_CASES === '1') return cases;
  const first = Date.parse(seedDate(variables)) / millisecondsOfDay;
  if (!Number.isSafeInteger(first)) throw new Error('SEED_DATE is a day, as 2026-11-27');
  const start = (first * count) % cases.length;
  return cases.filter((_, index) => (index - start + cases.length) % cases.length < count);
}

/** The seeds from 1 on. */
export function firstSeeds(count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => index + 1);
}
