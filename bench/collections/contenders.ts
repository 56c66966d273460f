import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CopyGround } from '../copy/measure.ts';
import { startSyncerProcess } from '../../e2e/ground/syncer-process.ts';
import { usageOf, type Usage } from '../process-usage.ts';
import { percentile } from '../statistics.ts';
import { database, documentBytes, documentsEach } from './load.ts';

/** What one contender took. */
export interface CollectionsResult {
  readonly contender: string;
  readonly seconds: number;
  readonly tool: Usage;
  /** Of all answers of progress while it worked; undefined for the floor. */
  readonly progressMs: ProgressDelays | undefined;
}

/** Milliseconds until progress was answered. */
export interface ProgressDelays {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

/** To ask all the time would keep the tool busy. */
const askEveryMs = 20;

/** Creates all collections on the empty destination. */
export type Contender = (
  ground: Pick<CopyGround, 'source' | 'destination'>,
  count: number,
) => Promise<Omit<CollectionsResult, 'contender'>>;

/** The floor creates as many side by side as help, or as many as mongorestore does, and waits as it does. */
export function contendersWith(floor: string): Readonly<Record<string, Contender>> {
  return {
    floor: floorOf(floor, ['-connections=8']),
    'floor as mongorestore': floorOf(floor, ['-connections=4', '-majority']),
    'clustersync beforeDataCopy': syncer('beforeDataCopy'),
    'clustersync afterDataCopy': syncer('afterDataCopy'),
  };
}

function floorOf(floor: string, options: readonly string[]): Contender {
  return async ({ destination }, count) => {
    const args = [
      `-collections=${count}`,
      `-database=${database}`,
      `-documents=${documentsEach}`,
      `-documentBytes=${documentBytes}`,
      ...options,
    ];
    const startedAt = performance.now();
    const env = { FLOOR_DESTINATION: destination.uri('admin') };
    const child = spawn(floor, args, { env, stdio: 'inherit' });
    const tool = await usageOf(
      () => [child.pid],
      async () => {
        await once(child, 'exit');
      },
    );
    if (child.exitCode !== 0) throw new Error(`the floor ended with ${String(child.exitCode)}`);
    return { seconds: secondsSince(startedAt), tool, progressMs: undefined };
  };
}

function syncer(buildIndexes: 'beforeDataCopy' | 'afterDataCopy'): Contender {
  return async ({ source, destination }) => {
    await using process = await startSyncerProcess({
      cluster0: source.uri('syncer'),
      cluster1: destination.uri('syncer'),
      options: { logLevel: 'info' },
    });
    const delays: number[] = [];
    let seconds = 0;
    const tool = await usageOf(
      () => [process.pid],
      async () => {
        const startedAt = performance.now();
        await process.start({ source: 'cluster0', destination: 'cluster1', buildIndexes });
        for (let isReached = false; !isReached;) {
          await sleep(askEveryMs);
          const askedAt = performance.now();
          isReached = (await process.progress()).info === 'change event application';
          delays.push(performance.now() - askedAt);
        }
        seconds = secondsSince(startedAt);
      },
    );
    return { seconds, tool, progressMs: delaysOf(delays) };
  };
}

function delaysOf(delays: readonly number[]): ProgressDelays {
  const at = (share: number): number => Math.round(percentile(delays, share));
  return { p50: at(0.5), p99: at(0.99), max: at(1) };
}

function secondsSince(startedAt: number): number {
  return (performance.now() - startedAt) / 1_000;
}
