import { UUID } from 'mongodb';
import { Mutex } from '../../service/mutex.ts';
import type { ClaimedTask, PassKind, PlanKey } from '../store/records.ts';
import { Wakeup } from '../wakeup.ts';
import { Results, type ResultStores } from './results.ts';
import { runTask, type TaskContext } from './run-task.ts';

/** Small tasks take so little time that each worker claims a few at a time. */
const tasksPerWorker = 4;

/** How tasks are carried out, according to the options of a process. */
export interface WorkSettings extends Pick<
  TaskContext,
  'rangeBytes' | 'readPreference' | 'rateLimit' | 'ranges' | 'reportValues'
> {
  /** Number of concurrent tasks. */
  readonly workers: number;
}

/** What a worker needs. */
export interface WorkerContext {
  readonly stores: ResultStores;
  readonly plan: PlanKey;
  readonly kind: PassKind;
  /** The incarnation of this process. */
  readonly owner: string;
  readonly workers: number;
  readonly task: TaskContext;
  /** Called once all results are on record. */
  readonly onDone: () => void;
}

/**
 * Claims tasks of a pass and carries them out, a number of them concurrently, until there is none left to claim. Then all results
 * are stored; tasks of other processes may still be under way.
 *
 * Invariant: a claimed task is carried out, or is released. Only its process knows which of its claims it carries out while it is
 * alive: between two calls of this function, none. So each call releases those that are left from a call that failed, in this
 * process or by the error of another one, and from a claim that arrived after it was given up. The coordinator releases those of
 * processes that are gone.
 */
export async function runTasks(context: WorkerContext): Promise<void> {
  const { stores, plan, kind, owner, workers, task } = context;
  const results = new Results(stores, plan, kind);
  const mutex = new Mutex();
  const failure = new AbortController();
  const signal = AbortSignal.any([task.signal, failure.signal]);
  const ended = new Wakeup();
  let claimed: ClaimedTask[] = [];
  let busy = 0;
  let endedCount = 0;
  let isStoring = false;
  await stores.tasks.releaseOf(plan, owner);
  const take = async (): Promise<ClaimedTask | undefined> => {
    return await mutex.run(async () => {
      if (claimed.length === 0) {
        const claim = new UUID().toHexString();
        const weight = workers * tasksPerWorker;
        claimed = await stores.tasks.claim(plan, weight, { owner, claim });
      }
      const next = claimed.shift();
      if (next) busy += 1;
      return next;
    });
  };
  // A task that is under way may be split into more.
  const next = async (): Promise<ClaimedTask | undefined> => {
    for (;;) {
      const before = endedCount;
      const taken = await take();
      if (taken || (busy === 0 && before === endedCount)) return taken;
      if (before === endedCount) await ended.next(signal);
    }
  };
  const work = async (): Promise<void> => {
    for (let claim = await next(); claim; claim = await next()) {
      signal.throwIfAborted();
      await results.take(claim, await runTask({ ...task, signal }, claim));
      busy -= 1;
      endedCount += 1;
      ended.wake();
      // One of the workers stores what the others produce meanwhile.
      if (isStoring) continue;
      isStoring = true;
      try {
        await results.flush();
      } finally {
        isStoring = false;
      }
    }
  };
  const outcomes = await Promise.allSettled(
    Array.from({ length: workers }, async () => {
      try {
        await work();
      } catch (error) {
        failure.abort(error);
        throw error;
      }
    }),
  );
  const failed = outcomes.find((each) => each.status === 'rejected');
  task.signal.throwIfAborted();
  if (failed) throw failure.signal.reason ?? failed.reason;
  await results.flush();
  if (endedCount > 0) context.onDone();
}
