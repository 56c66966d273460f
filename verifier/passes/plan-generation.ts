import type { Timestamp } from 'mongodb';
import { retrying, type RetryContext } from '../../mongo/retrying.ts';
import { forEachConcurrently } from '../../service/concurrency.ts';
import type { Logger } from '../../service/logger.ts';
import type { Amount, OfSides } from '../compare/comparison.ts';
import { readNamespacePairs, type CatalogContext } from '../compare/namespace-pairs.ts';
import { collectionAmount } from '../compare/split-ranges.ts';
import type { RecheckStore } from '../store/recheck-store.ts';
import type { PlanKey, Task } from '../store/records.ts';
import type { TaskStore } from '../store/task-store.ts';
import { NotesOnRecord, type ExpectedNotes } from './notes-on-record.ts';
import {
  databasesOf,
  planIdTasks,
  planTasks,
  readPending,
  type PassScope,
  type PlannedTask,
} from './plan-tasks.ts';

/** What planning works with. */
export interface PlanContext extends RetryContext {
  readonly logger: Logger;
  readonly catalog: CatalogContext;
  readonly tasks: TaskStore;
  readonly rechecks: RecheckStore;
}

/** A pass that is to be planned. */
export interface Plan extends PassScope {
  readonly key: PlanKey;
  readonly readAfter: OfSides<Timestamp>;
  /** The rechecks that have to be on record. */
  readonly notes: readonly ExpectedNotes[];
}

/** Collections whose sizes are asked for side by side. */
const sizesAtOnce = 8;

const nothing: Amount = { documents: 0, bytes: 0 };

/**
 * Stores all tasks of a pass. Nobody takes any of them before the pass itself is on record, so that it can be done again from
 * the beginning. @returns how many there are.
 * @throws SyncError CheckFailed where not everything is on record that is to be compared again.
 */
export async function planGeneration(context: PlanContext, plan: Plan): Promise<number> {
  return await retrying(context, 'plan', async () => await attempt(context, plan));
}

async function attempt(context: PlanContext, plan: Plan): Promise<number> {
  const { tasks, rechecks, catalog } = context;
  const { key } = plan;
  await tasks.drop(key);
  const onRecord = new NotesOnRecord(plan.notes);
  const pending = await readPending(onRecord.counting(rechecks.all(key.run)));
  onRecord.requireAll();
  const pairs = await readNamespacePairs(catalog, databasesOf(plan, pending));
  const planned = [...planTasks(plan, pending, pairs)];
  const metadata = planned.filter(({ work }) => work.kind === 'metadata');
  const collections = planned.filter(({ work }) => work.kind === 'collection');
  await tasks.add(
    key,
    metadata.map((each) => taskOf(each, nothing)),
    1,
  );
  const sized: Task[] = [];
  await forEachConcurrently(collections, sizesAtOnce, async (each) => {
    const { namespace } = each.pair;
    sized.push(taskOf(each, await collectionAmount(catalog.source, namespace, catalog.signal)));
  });
  // The largest first: what is split then keeps all processes busy to the end.
  sized.sort((one, other) => other.expected.bytes - one.expected.bytes);
  await tasks.add(key, sized, 0);
  let count = metadata.length + sized.length;
  let waiting: Task[] = [];
  const readAgain = new NotesOnRecord(plan.notes);
  const noted = readAgain.counting(rechecks.all(key.run));
  for await (const { namespace, ids } of planIdTasks(plan, pending, pairs, noted)) {
    const expected = { documents: ids.length, bytes: 0 };
    waiting.push({ namespace, work: { kind: 'ids', ids }, expected });
    if (waiting.length < 20) continue;
    await tasks.add(key, waiting, 2);
    count += waiting.length;
    waiting = [];
  }
  await tasks.add(key, waiting, 2);
  readAgain.requireAll();
  return count + waiting.length;
}

function taskOf({ pair, work }: PlannedTask, expected: Amount): Task {
  return { namespace: pair.namespace, work, expected };
}
