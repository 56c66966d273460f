import type { Timestamp } from 'mongodb';
import type { ClusterClient } from '../../mongo/cluster-client.ts';
import {
  latestWriteTime,
  majorityTime,
  isSharded,
  timeOfAllShards,
} from '../../mongo/cluster-time.ts';
import { longWorkMs } from '../../mongo/retry-warnings.ts';
import { retrying, type RetryContext } from '../../mongo/retrying.ts';
import type { SideName, Sides } from '../../mongo/sides.ts';
import type { VerifierMonitor } from '../monitor.ts';
import type { Position, ScopeRecord, Start } from '../store/records.ts';
import type { Stores } from '../store/stores.ts';
import { ChangeFollower, checkRights, type ChangeFollowerOptions } from './change-follower.ts';
import { ChangeLog } from './change-log.ts';
import type { CoordinatorLease } from './coordinator-lease.ts';
import { ChangeNotes } from './notes.ts';
import { readScope, scopeOf, type ScopeOptions } from './scope.ts';

/** The part of a started verification that every pass requires. */
export interface Begun {
  readonly scope: ScopeRecord;
  readonly starts: Sides<Start>;
}

/** What starting and ending a verification needs to examine. */
export interface Clusters extends RetryContext, Sides<ClusterClient> {
  readonly scope: ScopeOptions;
}

/** What a new verification is about, and where it begins. */
export async function begin(context: Clusters): Promise<Begun> {
  const { source, destination, signal } = context;
  return await retrying(context, 'start', async () => {
    const starts = {
      source: await startOf(source, signal),
      destination: await startOf(destination, signal),
    };
    await checkRights(source, starts.source.from, signal);
    await checkRights(destination, starts.destination.from, signal);
    return { scope: await readScope(context.scope, destination, signal), starts };
  });
}

/** Cluster times not earlier than any write acknowledged before the call. Needs no right to write. */
export async function endTimes(context: Clusters, { starts }: Begun): Promise<Sides<Timestamp>> {
  const of = async (side: SideName): Promise<Timestamp> => {
    const { signal } = context;
    const cluster = context[side];
    return await retrying(context, 'end', async () => {
      return starts[side].isSharded
        ? await timeOfAllShards(cluster, signal)
        : await latestWriteTime(cluster, signal);
    });
  };
  const [source, destination] = await Promise.all([of('source'), of('destination')]);
  return { source, destination };
}

async function startOf(cluster: ClusterClient, signal: AbortSignal): Promise<Start> {
  return (await isSharded(cluster, signal))
    ? { isSharded: true, from: await timeOfAllShards(cluster, signal) }
    : { isSharded: false, from: await majorityTime(cluster, signal) };
}

/** What following needs. */
export interface FollowingContext extends Clusters {
  readonly stores: Pick<Stores, 'rechecks' | 'coverages'>;
  readonly monitor: VerifierMonitor;
}

/** The changes of both sides since the recorded positions, on their way to the record. */
export class Following {
  readonly #context: FollowingContext;
  readonly #lease: CoordinatorLease;
  readonly #begun: Begun;
  readonly #log: ChangeLog;
  #isAtEnd = false;

  constructor(context: FollowingContext, lease: CoordinatorLease, begun: Begun) {
    this.#context = context;
    this.#lease = lease;
    this.#begun = begun;
    this.#log = changeLog(context.stores, lease);
  }

  /** True once every change made before writesOff has been noted. */
  get isAtEnd(): boolean {
    return this.#isAtEnd;
  }

  /** Notes later changes for the next pass. @returns how far the streams were read. */
  async close(): Promise<Sides<Position | null>> {
    return await this.#log.close();
  }

  /**
   * Follows the changes while other work is done.
   * @param inBackground - receives work that may fail meanwhile.
   */
  async during(
    work: () => Promise<void>,
    inBackground: (work: Promise<unknown>) => void,
  ): Promise<void> {
    const stop = new AbortController();
    const signal = AbortSignal.any([this.#context.signal, stop.signal]);
    const { selects } = scopeOf(this.#begun.scope, this.#context.destination, signal);
    const followers = {
      source: this.#follower('source', { selects, signal }),
      destination: this.#follower('destination', { selects, signal }),
    };
    const untilStopped = async (following: Promise<unknown>): Promise<void> => {
      try {
        await following;
      } catch (error) {
        if (!stop.signal.aborted) throw error;
      }
    };
    const background = [
      untilStopped(followers.source.run()),
      untilStopped(followers.destination.run()),
      untilStopped(this.#awaitEnd(followers, signal)),
    ];
    for (const each of background) inBackground(each);
    try {
      await work();
    } finally {
      stop.abort(new Error('changes are no longer followed'));
      await Promise.allSettled(background);
    }
  }

  #follower(
    side: SideName,
    { selects, signal }: Pick<ChangeFollowerOptions, 'selects' | 'signal'>,
  ): ChangeFollower {
    const { logger, monitor } = this.#context;
    return new ChangeFollower({
      logger,
      monitor,
      ...this.#begun.starts[side],
      signal,
      selects,
      side,
      cluster: this.#context[side],
      reached: this.#lease.record.positions[side],
      log: this.#log,
      onStored: () => {
        this.#lease.wake();
      },
    });
  }

  /** After writesOff: waits until every change made before it has been noted on both sides. */
  async #awaitEnd(followers: Sides<ChangeFollower>, signal: AbortSignal): Promise<void> {
    await this.#lease.until(() => this.#lease.isWritesOff, signal);
    const times = await endTimes(this.#context, this.#begun);
    const passed = async (side: SideName): Promise<void> => {
      const { retryWarnings } = this.#context.monitor;
      // Without a majority, a stream tells nothing, and no error.
      using warning = retryWarnings.watch(`change stream of the ${side}`, 'waiting', longWorkMs);
      warning.set('it has not reached the end of the writes');
      await followers[side].passed(times[side]);
    };
    await Promise.all([passed('source'), passed('destination')]);
    this.#isAtEnd = true;
    this.#lease.wake();
  }
}

/** Notes changes for the pass that is planned next, and records their number with the position after them. */
function changeLog(
  { rechecks, coverages }: FollowingContext['stores'],
  lease: CoordinatorLease,
): ChangeLog {
  const { run, epoch, record } = lease;
  const notes = new ChangeNotes(epoch, record.noted);
  return new ChangeLog(
    {
      add: async (number, found) => {
        await rechecks.add(run, number, [notes.next(number, found)]);
      },
      addTallies: async (number, tallies) => {
        await coverages.addTallies(run, number, tallies);
      },
      setPositions: async (positions) => {
        const noted = notes.after(lease.record.generation?.number ?? -1);
        await lease.update({ positions, noted });
      },
    },
    { generation: (record.generation?.number ?? -1) + 1, positions: record.positions },
  );
}
