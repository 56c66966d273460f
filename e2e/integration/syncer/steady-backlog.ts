import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Db } from 'mongodb';
import type { SyncerProcess } from '../../ground/syncer-process.ts';
import { slowCommands } from './slow-commands.ts';
import type { Side } from './cluster-pair.ts';

const backlogEvents = 70;
const createEveryMs = 100;
const applyEachMs = 150;
const maxAttempts = 8;
/** How far from one rate, in time: half of what an estimate may be off however little is left. */
const maxDeviationMs = 1_500;
/** Estimates are made about once a second. */
const maxStandstillMs = 2_500;
/** Before the first event is applied. Estimates count it as a part of the time that events took. */
const maxStartMs = 1_500;

/** An answer of progress while a backlog was worked off. */
interface Sample {
  readonly atMs: number;
  readonly applied: number;
  /** Estimated until it has caught up. */
  readonly seconds: number | null;
}

/** How a backlog was worked off. */
export interface WorkedOff {
  readonly samples: readonly Sample[];
  /** When all was applied, by performance.now. */
  readonly endMs: number;
  /** Applied since the start of the sync. */
  readonly events: number;
}

/**
 * Lets a syncer work off a backlog at a steady rate, which is what an estimate can foresee: again where the machine was not
 * steady while it was made or worked off. Fails where it never is.
 * @param eventsBefore - what is applied by then.
 */
export async function workOffSteadily(
  syncer: SyncerProcess,
  { source, destination }: { readonly source: Db; readonly destination: Side },
  eventsBefore: number,
): Promise<WorkedOff> {
  await using obstacles = new AsyncDisposableStack();
  obstacles.use(await slowCommands(destination, ['create'], applyEachMs));
  const attempts: string[] = [];
  let events = eventsBefore;
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    await syncer.kill('SIGSTOP');
    const isMadeSteadily = await createSteadily(source, `late${attempt}`);
    await syncer.kill('SIGCONT');
    events += backlogEvents;
    const samples: Sample[] = [];
    await syncer.waitFor(({ totalEventsApplied, estimatedSecondsToCatchUp: seconds }) => {
      samples.push({ atMs: performance.now(), applied: totalEventsApplied ?? 0, seconds });
      return (totalEventsApplied ?? 0) >= events;
    });
    const endMs = performance.now();
    const unsteadiness = unsteadinessOf(samples);
    if (isMadeSteadily && unsteadiness === undefined) return { samples, endMs, events };
    attempts.push(unsteadiness ?? 'made unsteadily');
  }
  assert.fail(`never steady: ${attempts.join('; ')}`);
}

/**
 * Creates collections, ten a second.
 * @returns whether none of them came late by more than what counts as one rate: what is left is estimated by the time it took.
 */
async function createSteadily(db: Db, prefix: string): Promise<boolean> {
  const startMs = performance.now();
  let latestMs = 0;
  for (let number = 0; number < backlogEvents; number++) {
    const dueMs = startMs + number * createEveryMs;
    await sleep(Math.max(0, dueMs - performance.now()));
    await db.createCollection(`${prefix}-${number}`);
    latestMs = Math.max(latestMs, performance.now() - dueMs);
  }
  return latestMs < maxDeviationMs;
}

/** In words; undefined where events were applied at one rate from the start, and the estimate never stood still for long. */
function unsteadinessOf(samples: readonly Sample[]): string | undefined {
  const first = samples.find(({ applied }) => applied > (samples[0]?.applied ?? 0));
  const last = samples.at(-1);
  if (!first || !last) return 'applied at once';
  const startMs = first.atMs - (samples[0]?.atMs ?? first.atMs);
  if (startMs > maxStartMs) return `nothing was applied for ${startMs} ms`;
  let sinceMs = first.atMs;
  let seconds = first.seconds;
  for (const sample of samples.slice(samples.indexOf(first))) {
    const timeShare = (sample.atMs - first.atMs) / (last.atMs - first.atMs);
    const appliedShare = (sample.applied - first.applied) / (last.applied - first.applied);
    if (Math.abs(timeShare - appliedShare) * (last.atMs - first.atMs) > maxDeviationMs)
      return `${appliedShare} were applied after ${timeShare} of the time`;
    if (sample.seconds !== seconds) sinceMs = sample.atMs;
    seconds = sample.seconds;
    if (seconds !== null && sample.atMs - sinceMs > maxStandstillMs)
      return `${seconds} s were estimated for ${sample.atMs - sinceMs} ms`;
  }
  return undefined;
}
