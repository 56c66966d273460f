import type { Timestamp } from 'mongodb';
import { retrying, type RetryContext } from '../../mongo/retrying.ts';
import { forEachConcurrently } from '../../service/concurrency.ts';
import type { Logger } from '../../service/logger.ts';
import { collectionAmount } from '../compare/split-ranges.ts';
import { readNamespacePairs, type CatalogContext } from '../generation/namespace-pairs.ts';
import {
  databasesOf,
  planIdTasks,
  planTasks,
  readPending,
  type PassScope,
  type PlannedTask,
} from '../generation/plan-tasks.ts';
import type { Amount, OfSides, Task } from '../state/records.ts';
import type { RecheckStore } from '../state/recheck-store.ts';
import type { PlanKey, TaskStore } from '../state/task-store.ts';

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
}

/** Collections whose sizes are asked for side by side. */
const sizesAtOnce = 8;

const nothing: Amount = { documents: 0, bytes: 0 };

/**
 * Stores all tasks of a pass. Nobody takes any of them before the pass itself is on record, so that it can be done again from
 * the beginning. @returns how many there are.
 */
export async function planGeneration(context: PlanContext, plan: Plan): Promise<number> {
  return await retrying(context, 'plan', async () => await attempt(context, plan));
}

async function attempt(context: PlanContext, plan: Plan): Promise<number> {
  const { tasks, rechecks, catalog } = context;
  const { key } = plan;
  await tasks.drop(key);
  const noted = (): ReturnType<RecheckStore['all']> => rechecks.all(key.run);
  const pending = await readPending(noted());
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
  for await (const { namespace, ids } of planIdTasks(plan, pending, pairs, noted())) {
    const expected = { documents: ids.length, bytes: 0 };
    waiting.push({ namespace, work: { kind: 'ids', ids }, expected });
    if (waiting.length < 20) continue;
    await tasks.add(key, waiting, 2);
    count += waiting.length;
    waiting = [];
  }
  await tasks.add(key, waiting, 2);
  return count + waiting.length;
}

function taskOf({ pair, work }: PlannedTask, expected: Amount): Task {
  return { namespace: pair.namespace, work, expected };
}
