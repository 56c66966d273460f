import { cpuSecondsOf } from '../process-usage.ts';

/** Wall-clock and CPU seconds that work took; CPU by process name. */
export interface Cost<Name extends string> {
  readonly seconds: number;
  readonly cpuSeconds: Readonly<Record<Name, number>>;
}

/** Runs work, and measures the time and the CPU time of the processes that it takes. */
export async function costOf<Name extends string>(
  pids: Readonly<Record<Name, readonly (number | undefined)[]>>,
  run: () => Promise<void>,
): Promise<Cost<Name>> {
  const used = async (): Promise<Record<Name, number>> => {
    const entries = Object.entries(pids) as [Name, readonly (number | undefined)[]][];
    const sums = await Promise.all(
      entries.map(async ([name, list]) => {
        const each = await Promise.all(list.map(cpuSecondsOf));
        return [name, each.reduce((sum, one) => sum + one, 0)] as const;
      }),
    );
    return Object.fromEntries(sums) as Record<Name, number>;
  };
  const before = await used();
  const start = performance.now();
  await run();
  const seconds = (performance.now() - start) / 1_000;
  const after = await used();
  const spent = Object.entries(after) as [Name, number][];
  const cpu = Object.fromEntries(
    spent.map(([name, value]) => [name, Math.round((value - before[name]) * 100) / 100]),
  ) as Record<Name, number>;
  return { seconds, cpuSeconds: cpu };
}
