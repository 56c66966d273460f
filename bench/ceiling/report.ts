import { markdownTable } from '../results.ts';
import type { Moved } from './ground.ts';

/** What a run has found. */
export interface CeilingResults {
  readonly at: string;
  readonly machine: string;
  readonly load: string;
  readonly moved: readonly Moved[];
  /** The same with profiles. */
  readonly profiled: readonly Moved[];
}

const names = {
  small: 'documents of 1 KiB',
  large: 'documents of 50 KiB',
  changes: 'changes, of 50 % inserts, 40 % updates, 10 % deletes',
} as const;

const gigabyte = 1e9;
const hundredThousand = 100_000;

/** How much two cores must move in a second. */
const asked = { bytes: gigabyte, changes: hundredThousand, cores: 2 } as const;

/** The results as Markdown. */
export function textOf({ at, machine, load, moved, profiled }: CeilingResults): string {
  const parts = [
    '# What one process moves when servers do not limit it',
    `${at}, ${machine}, load ${load} in the 15 minutes before the end.`,
    `Processes stand before the mongods of a source and a destination and answer for them: documents and changes come from memory, writes of
documents are counted and acknowledged. All other commands go to the mongods. Left out are therefore: what servers and disks need, waiting
for a majority, refused writes, network links, TLS and compression. The documents of a copy are a few thousand that come again and again; the
changes are real ones that were recorded, and are given again with the same resume tokens, so no checkpoint of that run could be continued.
Indexes are not built.`,
    `The stand-ins and the syncers share the cores of the machine. What counts is the CPU time of the syncers: the amount for each second
of it is what one core would move that does nothing else. Elapsed times are shown, and are not a ceiling here.`,
    markdownTable(
      [
        'what',
        'instances',
        'moved',
        'CPU s of the syncers',
        'CPU s for 1 GB or 100,000 changes',
        'ceiling of one core, a second',
        'of two cores, a second',
        'elapsed, s',
        'CPU s of the stand-ins',
      ],
      moved.map(rowOf),
      1,
    ),
    `Asked for are 1 GB and 100,000 changes a second for each two cores, which takes two instances: ${verdictOf(moved)}. Other work on the machine
makes CPU time longer: it shares caches and memory.`,
    'With several instances the CPU time for the same amount tells what each further one costs; this machine has too few cores to show what they move together.',
    ...profiled.map(
      (one) =>
        `What took the time of the main thread, ${names[one.what]} (with the profiler, other threads and idle time left out):\n\n${sharesOf(one)}`,
    ),
  ];
  return `${parts.join('\n\n')}\n`;
}

function unitsOf({ what, amount }: Moved): number {
  return amount / (what === 'changes' ? hundredThousand : gigabyte);
}

function perCoreOf(one: Moved): number {
  return one.amount / one.cpuSeconds;
}

function rowOf(one: Moved): (string | number)[] {
  const { what, instances, cpuSeconds, seconds, standInCpuSeconds } = one;
  const text = (amount: number): string =>
    what === 'changes'
      ? Math.round(amount).toLocaleString('en')
      : `${(amount / gigabyte).toFixed(2)} GB`;
  return [
    names[what],
    instances,
    text(one.amount),
    cpuSeconds.toFixed(1),
    (cpuSeconds / unitsOf(one)).toFixed(2),
    text(perCoreOf(one)),
    text(perCoreOf(one) * asked.cores),
    seconds.toFixed(1),
    standInCpuSeconds.toFixed(1),
  ];
}

function verdictOf(moved: readonly Moved[]): string {
  // One process works on little more than one core.
  return moved
    .filter(({ instances }) => instances === asked.cores)
    .map((one) => {
      const needed = one.what === 'changes' ? asked.changes : asked.bytes;
      const percent = Math.round((100 * perCoreOf(one) * asked.cores) / needed);
      return `${names[one.what]}: ${percent >= 100 ? 'reached' : 'not reached'} (${percent} %)`;
    })
    .join('; ');
}

/** Not a table: the names are those of functions, and Markdown would take some of them apart. */
function sharesOf({ shares }: Moved): string {
  const lines = shares.map(({ what, percent }) => `${percent.toFixed(1).padStart(5)} %  ${what}`);
  return ['```text', ...lines, '```'].join('\n');
}
