import type { BacklogResult } from './backlog.ts';
import type { Delays, LiveResult } from './delays.ts';

/** What was measured in one run. */
export interface ChangesResults {
  readonly at: string;
  /** Of each replica set. */
  readonly members: number;
  readonly backlogs: readonly BacklogResult[];
  readonly singleWrites: Delays;
  readonly live: LiveResult;
}

/** The results as Markdown. */
export function textOf({ at, members, backlogs, singleWrites, live }: ChangesResults): string {
  const rows = backlogs.map((backlog) => {
    const { events, floorPerSecond, eventsPerSecond, floorCost, applyCost } = backlog;
    const microseconds = (seconds: number): string => ((seconds * 1e6) / events).toFixed(1);
    return [
      events,
      floorPerSecond,
      eventsPerSecond,
      (eventsPerSecond / floorPerSecond).toFixed(2),
      microseconds(floorCost.cpuSeconds.destination),
      microseconds(applyCost.cpuSeconds.destination),
      microseconds(applyCost.cpuSeconds.source),
      microseconds(applyCost.cpuSeconds.syncer),
    ];
  });
  const header = [
    'events',
    'bulk writes/s',
    'events/s',
    'ratio',
    'bulk: destination CPU \u00b5s each',
    'destination',
    'source',
    'syncer',
  ];
  const line = (cells: readonly (string | number)[]): string => `| ${cells.join(' | ')} |\n`;
  const milliseconds = ({ p50, p99, max }: Delays): string =>
    `p50 ${p50} ms, p99 ${p99} ms, at most ${max} ms`;
  return (
    `# Applying changes\n\n${at}, replica sets of ${members}. Everything shares the machine.\n\n` +
    `A backlog of 50 % inserts, 40 % updates and 10 % deletes, and the same as bulk writes to the destination:\n\n` +
    line(header) +
    line(header.map(() => '---')) +
    rows.map(line).join('') +
    `\nSingle writes until they are seen on the destination: ${milliseconds(singleWrites)}.\n` +
    `The same beside ${live.operationsPerSecond} operations a second: ${milliseconds(live.lag)}; ` +
    `${Math.round(live.catchUpMs)} ms after the end of the load.\n`
  );
}
