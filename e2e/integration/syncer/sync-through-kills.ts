import assert from 'node:assert/strict';
import { sleep } from '../../../service/sleep.ts';
import { SeededRandom } from '../../ground/workload/seeded-random.ts';
import type { SyncerProcessOptions } from '../../ground/syncer-process.ts';
import { until } from '../../ground/until.ts';
import { checkTrace } from '../../model/trace.ts';
import { instancesOf, type Instances } from './instances.ts';
import type { PairToSync } from './sharded-pair.ts';

/** How long writers continue while change events are applied. */
const workloadMs = 1_500;

/**
 * Of the whole run, where changes of the catalog take longer on shards. Shorter than mocha's, which would not say what the run
 * was waiting for.
 */
const runDeadlineMs = 330_000;

const never = new AbortController().signal;

/**
 * Syncs while the source is written to, and commits. With an even seed a syncer is killed during the
 * copy, the changes and the commit; every third seed has its indexes built after the copy.
 */
export async function syncThroughKills(
  pair: Pick<PairToSync, 'syncer'>,
  seed: number,
  {
    write,
    hasWritten,
    startAll = async (settings) => instancesOf([await pair.syncer(settings)]),
    isRepaired = false,
    start = async (instances, body) => {
      await instances.start(body);
    },
  }: {
    /** Writes to the source until the signal is aborted. */
    readonly write: (signal: AbortSignal) => Promise<unknown>;
    /** Whether that is enough: on a busy machine it takes longer. */
    readonly hasWritten: () => boolean;
    /** Starts the instances. Default: one for the whole source. */
    readonly startAll?: (settings: Partial<SyncerProcessOptions>) => Promise<Instances>;
    /** Repair the sync in the middle of the changes. */
    readonly isRepaired?: boolean;
    /** Starts the sync, with these start options and others, once writing has begun. */
    readonly start?: (instances: Instances, body: object) => Promise<void>;
  },
): Promise<void> {
  const endMs = performance.now() + runDeadlineMs;
  const leftMs = (): number => Math.max(1, Math.ceil(endMs - performance.now()));
  const chance = new SeededRandom(seed);
  const isKilled = seed % 2 === 0;
  // Small partitions, so that small collections are split too.
  const settings = { options: { partitionMebibytes: 0.05 } };
  await using instances = await startAll(settings);
  const killAndRestart = async (withinMs: number): Promise<void> => {
    if (!isKilled) return;
    await sleep(chance.below(withinMs), never);
    const syncer = chance.pick(instances.all);
    await syncer.kill('SIGKILL');
    await syncer.restart();
  };
  const writing = new AbortController();
  let isWriting = true;
  const written = write(writing.signal).finally(() => {
    isWriting = false;
  });
  // A failure of the writers is thrown where they are awaited.
  written.catch(() => undefined);
  try {
    const buildIndexes = seed % 3 === 0 ? 'afterDataCopy' : 'beforeDataCopy';
    await start(instances, { buildIndexes });
    await killAndRestart(3_000);
    await instances.waitFor(({ canCommit }) => canCommit, { deadlineMs: leftMs() });
    await sleep(workloadMs, never);
    await until('enough was written', hasWritten, leftMs());
    await killAndRestart(1);
    if (isRepaired) {
      await instances.waitFor(({ canCommit }) => canCommit, { deadlineMs: leftMs() });
      await instances.send('repair');
      await killAndRestart(3_000);
      await instances.waitFor(({ canCommit, repairs }) => canCommit && repairs === 1, {
        deadlineMs: leftMs(),
      });
    }
  } finally {
    writing.abort();
  }
  await until('the writers have ended', () => !isWriting, leftMs());
  await written;
  await instances.waitFor(({ canCommit }) => canCommit, { deadlineMs: leftMs() });
  await instances.commit({ deadlineMs: leftMs() });
  await killAndRestart(2_000);
  await instances.waitFor(({ state }) => state === 'COMMITTED', { deadlineMs: leftMs() });
  const isShared = instances.all.length > 1;
  for (const one of instances.all)
    assert.ok(checkTrace(await one.log(), { isShared }) > 0, 'nothing was judged');
}
