import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { pid } from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CopyGround } from '../copy/measure.ts';
import { startSyncerProcess } from '../../e2e/ground/syncer-process.ts';
import { coreWaitMsOf, usageOf, type Usage } from '../process-usage.ts';
import { percentile } from '../statistics.ts';
import { database, documentBytes, documentsEach } from './load.ts';

/** What one contender took. */
export interface CollectionsResult {
  readonly contender: string;
  readonly seconds: number;
  readonly tool: Usage;
  /** Over all answers to progress calls while it worked; undefined for the floor. */
  readonly progressMs: ProgressDelays | undefined;
}

/** Milliseconds until progress was answered. */
export interface ProgressDelays {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
  /** During the slowest call: how long the tool or the caller was ready to run, but had no core. */
  readonly maxWaitedForCore: number;
}

/** Milliseconds until an answer, and how many of these the two programs waited for a core. */
interface Delay {
  readonly ms: number;
  readonly waitedMs: number;
}

/** Asking without a pause would keep the tool busy. */
const askEveryMs = 20;

/** Creates all collections on the empty destination. */
export type Contender = (
  ground: Pick<CopyGround, 'source' | 'destination'>,
  count: number,
) => Promise<Omit<CollectionsResult, 'contender'>>;

/** The floor creates as many in parallel as helps, or as many as mongorestore does, and waits as it does. */
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
    const delays: Delay[] = [];
    const programs = [process.pid, pid].filter((one) => one !== undefined);
    const waitedMs = (): number =>
      programs.map(coreWaitMsOf).reduce((sum, waited) => sum + waited, 0);
    let seconds = 0;
    const tool = await usageOf(
      () => [process.pid],
      async () => {
        const startedAt = performance.now();
        await process.start({ source: 'cluster0', destination: 'cluster1', buildIndexes });
        for (let isReached = false; !isReached;) {
          await sleep(askEveryMs);
          const waitedBefore = waitedMs();
          const askedAt = performance.now();
          isReached = (await process.progress()).info === 'change event application';
          const ms = performance.now() - askedAt;
          delays.push({ ms, waitedMs: waitedMs() - waitedBefore });
        }
        seconds = secondsSince(startedAt);
      },
    );
    return { seconds, tool, progressMs: delaysOf(delays) };
  };
}

function delaysOf(delays: readonly Delay[]): ProgressDelays {
  const all = delays.map(({ ms }) => ms);
  const at = (share: number): number => Math.round(percentile(all, share));
  const slowest = delays.toSorted((left, right) => right.ms - left.ms)[0];
  return {
    ...{ p50: at(0.5), p99: at(0.99), max: at(1) },
    maxWaitedForCore: Math.round(slowest?.waitedMs ?? 0),
  };
}

function secondsSince(startedAt: number): number {
  return (performance.now() - startedAt) / 1_000;
}
