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

/** Makes all processes of a run take the same day, also beyond midnight. */
export function keepSeedDate(): void {
  process.env['SEED_DATE'] ??= seedDate();
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
 * The cases that a test tries on a day: `count` of them, in their order, and the following ones the next day, so that each case has its
 * turn. All with `ALL_CASES=1`. For cases that each take long and resemble one another.
 */
export function shareOfDay<T>(
  cases: readonly T[],
  count: number,
  variables: SeedVariables = process.env,
): readonly T[] {
  const day = dayOf(variables);
  if (variables.ALL_CASES === '1') return cases;
  const start = (day * count) % cases.length;
  return cases.filter((_, index) => (index - start + cases.length) % cases.length < count);
}

/**
 * As many cases as a day takes, a third of their seeds new each day; with `SEED=17` or `SEEDS=100` those seeds of each that differs by more
 * than its seed.
 */
export function chosenCases<T extends { readonly seed: number }>(
  byDefault: readonly T[],
  perDay: number,
  variables: SeedVariables = process.env,
): readonly T[] {
  const asked = chosenSeeds([], {}, variables);
  if (asked.length > 0) {
    const kinds = new Map(byDefault.map((one) => [JSON.stringify({ ...one, seed: 0 }), one]));
    return [...kinds.values()].flatMap((one) => asked.map((seed) => ({ ...one, seed })));
  }
  const seeds = chosenSeeds(
    byDefault.map(({ seed }) => seed),
    {},
    variables,
  );
  return shareOfDay(
    byDefault.map((one, index) => ({ ...one, seed: seeds[index] ?? one.seed })),
    perDay,
    variables,
  );
}

/** Any that has no divisor in common with most numbers of cases. */
const stride = 37;

/** All cases, beginning with another one each day: for work that may have no time for the last of them. */
export function inTurnOfDay<T>(
  cases: readonly T[],
  variables: SeedVariables = process.env,
): readonly T[] {
  const start = (dayOf(variables) * stride) % cases.length;
  return [...cases.slice(start), ...cases.slice(0, start)];
}

/** The number of the day since 1970. */
function dayOf(variables: SeedVariables): number {
  const day = Date.parse(seedDate(variables)) / millisecondsOfDay;
  if (!Number.isSafeInteger(day)) throw new Error('SEED_DATE is a day, as 2026-11-27');
  return day;
}

/** The seeds from 1 on. */
export function firstSeeds(count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => index + 1);
}
