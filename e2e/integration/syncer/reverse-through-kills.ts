import assert from 'node:assert/strict';
import { sleep } from '../../../service/sleep.ts';
import type { SyncerProcess } from '../../ground/syncer-process.ts';
import { until } from '../../ground/until.ts';
import { checkTrace } from '../../model/trace.ts';
import { SeededRandom } from '../../ground/workload/seeded-random.ts';
import { forward } from './cluster-pair.ts';

/** The deployment that was the source first, and the other one. */
export type SideName = 'cluster0' | 'cluster1';

/** A random workload on one side. */
interface Workload {
  /** Operations that went through, as `done`, and that were refused. */
  readonly counts: Readonly<Record<string, number>>;
  /** Writes until the signal is aborted. */
  run(writers: number, signal: AbortSignal): Promise<unknown>;
}

/** What is done to both sides in the meantime. */
export interface ReversalOptions {
  readonly writers: number;
  readonly workload: (side: SideName, seed: number) => Workload;
  /** Makes a side slow, as the new destination of a reversal, until the result is disposed of. */
  readonly slow?: (side: SideName) => Promise<AsyncDisposable>;
}

/** Changes of the catalog take longer on shards. */
const deadlineMs = 150_000;

const never = new AbortController().signal;

/**
 * Starts a sync, commits it, reverses it, commits that, reverses it again, and commits, while the source of the time is
 * written to: from when users may, while the commit still restores indexes, and through the reversal. The syncer is killed
 * in each commit and reversal.
 */
export async function reverseThroughKills(
  syncer: SyncerProcess,
  seed: number,
  { writers, workload, slow }: ReversalOptions,
): Promise<void> {
  const chance = new SeededRandom(seed);
  const canCommit = async (): Promise<void> => {
    await syncer.waitFor((progress) => progress.canCommit, { deadlineMs });
  };
  const isCommitted = async (): Promise<void> => {
    await syncer.waitFor(({ state }) => state === 'COMMITTED', { deadlineMs });
  };
  const killed = async (withinMs: number): Promise<void> => {
    await sleep(chance.below(withinMs), never);
    await syncer.kill();
    await syncer.restart();
  };
  /** Runs a task while a side is written to, however slow the machine is. */
  const writing = async (
    side: SideName,
    writerSeed: number,
    task: () => Promise<void>,
  ): Promise<void> => {
    const stop = new AbortController();
    const writes = workload(side, writerSeed);
    const written = writes.run(writers, stop.signal);
    try {
      await task();
      await until('enough was written', () => (writes.counts['done'] ?? 0) > 20, deadlineMs);
    } finally {
      stop.abort();
      await written;
    }
  };
  await writing('cluster0', seed, async () => {
    await syncer.start({ ...forward, reversible: true, enableUserWriteBlocking: true });
    await canCommit();
  });
  const rounds = [
    ['cluster1', 'cluster0'],
    ['cluster0', 'cluster1'],
  ] as const;
  for (const [round, [used, other]] of rounds.entries()) {
    await canCommit();
    await syncer.commit();
    await killed(300);
    await syncer.waitFor(({ canWrite }) => canWrite === true, { deadlineMs });
    await writing(used, seed * 10 + round, async () => {
      await isCommitted();
      await sleep(chance.below(400), never);
      await using slowed = await slow?.(other);
      const { status, body } = await syncer.post('reverse', {});
      if (status !== 200) throw new Error(`reverse answers ${JSON.stringify(body)}`);
      await killed(500);
      await killed(500);
      await slowed?.[Symbol.asyncDispose]();
      await canCommit();
      await sleep(200, never);
    });
  }
  await canCommit();
  await syncer.commit();
  await isCommitted();
  assert.ok(checkTrace(await syncer.log()) > 0, 'nothing was judged');
}
