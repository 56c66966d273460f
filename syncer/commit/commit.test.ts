import assert from 'node:assert/strict';
import { setImmediate } from 'node:timers/promises';
import { MongoServerError, Timestamp } from 'mongodb';
import type { Deployment } from '../../mongo/deployment.ts';
import { createLogger, type Logger } from '../../service/logger.ts';
import type { Destination } from '../destination/destination.ts';
import { SyncMonitor } from '../monitor/monitor.ts';
import { Source } from '../source/source.ts';
import type { LiveSync } from '../store/live-sync.ts';
import { reversibleSync } from '../testing/reversible-sync.ts';
import { Commit } from './commit.ts';

type SourceParts = ConstructorParameters<typeof Source>[0];
type CommitParts = ConstructorParameters<typeof Commit>[0];

describe('Commit', () => {
  it('stops trying to fix its time when the signal of its caller is aborted, however long the source fails', async () => {
    const asked = new AbortController();
    const reason = new Error('nobody asks any more');
    /** Runs commands, which fail with a temporary error. */
    const client = {
      get topology(): never {
        asked.abort(reason);
        throw new MongoServerError({ message: 'killed', code: 11_601 });
      },
    };
    const { signal } = new AbortController();
    const logger = { warn: () => undefined } as unknown as Logger;
    const monitor = new SyncMonitor();
    const source = new Source({
      ...({ options: {}, logger, monitor, signal } as unknown as SourceParts),
      deployment: {
        isSharded: false,
        admin: { databaseName: 'admin', client },
      } as unknown as Deployment,
    });
    const live = {
      current: { commitTime: null, options: { enableUserWriteBlocking: false } },
      update: async () => {
        await Promise.resolve();
      },
    };
    const store = { live, requireLease: () => undefined };
    const commit = new Commit({
      ...({ source, store, options: {}, monitor, logger, signal } as unknown as CommitParts),
    });
    await assert.rejects(commit.fixTime(asked.signal), reason);
  });

  /** A commit that has nothing to restore, and what it does at its end. */
  function ending() {
    const steps: unknown[] = [];
    let [seconds, current] = [0, reversibleSync()];
    const timeNow: Destination['timeNow'] = async () => {
      await setImmediate();
      steps.push(`time ${++seconds}`);
      return new Timestamp({ t: seconds, i: 0 });
    };
    const set: Destination['blocking']['set'] = async (isBlocked) => {
      await setImmediate();
      steps.push(isBlocked ? 'blocked' : 'unblocked');
    };
    const live: Pick<LiveSync, 'current' | 'update'> = {
      get current() {
        return current;
      },
      update: async (change, expected) => {
        await setImmediate();
        steps.push(expected ? [change, expected] : [change]);
        current = { ...current, ...change };
        return true;
      },
    };
    const run = async (_: string, work: () => Promise<void>): Promise<void> => {
      await work();
    };
    const nothing = async (): Promise<void> => {
      await Promise.resolve();
    };
    const parts = {
      destination: { timeNow, blocking: { set }, step: run, sharding: { shards: ['one'] } },
      source: { kind: { readShardKeys: async () => await Promise.resolve(new Map()) } },
      store: { live, requireLease: () => undefined },
      ...{ catalog: { collections: () => [] }, leftBuilds: { end: nothing }, workers: 1 },
      ...{ options: current.options, logger: createLogger('test', 'fatal') },
    };
    return { commit: new Commit(parts as unknown as CommitParts), steps };
  }

  it('lets users write once its first time is past on all shards and stored, and says so last', async () => {
    const { commit, steps } = ending();
    await commit.restore();
    const writableTime = new Timestamp({ t: 1, i: 0 });
    assert.deepEqual(steps, [
      ...['time 1', 'time 2', [{ writableTime }, { writableTime: null }]],
      ...['unblocked', [{ canWrite: true }]],
    ]);
    await commit.restore();
    assert.equal(steps.length, 5);
  });
});
