import type { Binary } from 'mongodb';
import { namespaceText, type Namespace } from '../../mongo/namespace.ts';
import { retrying, type RetryContext } from '../../mongo/retrying.ts';
import type { ReadDocuments } from '../compare/sides.ts';
import type { Coverage, PassRecord, RangeTask } from '../store/records.ts';
import type { TaskStore } from '../store/task-store.ts';

/** What the tasks of a finished pass have read of one namespace. */
export type NamespaceCoverage =
  /** Every document, in contiguous ranges from the lowest to the highest `_id`. */
  | {
      readonly kind: 'covered';
      readonly namespace: Namespace;
      readonly ranges: number;
      readonly read: ReadDocuments;
    }
  /** A task was abandoned before its end, and has noted the namespace for the next pass. */
  | { readonly kind: 'unread'; readonly namespace: Namespace }
  /** The recorded tasks do not make up the collection. */
  | { readonly kind: 'incomplete'; readonly namespace: Namespace; readonly reason: string };

/**
 * What the recorded tasks on one namespace prove to have been read.
 * @param tasks - at least one, all of the same namespace and pass, in any order.
 */
export function coverageOf(namespace: Namespace, tasks: readonly RangeTask[]): NamespaceCoverage {
  const wholes = tasks.filter(({ part }) => part === null);
  const coverages = wholes.map((whole) => coverageBy(namespace, whole, tasks));
  return (
    coverages.find(({ kind }) => kind === 'covered') ??
    coverages.find(({ kind }) => kind === 'unread') ??
    coverages[0] ?? {
      kind: 'incomplete',
      namespace,
      reason: `${tasks.length} ranges, but not the task that was split into them`,
    }
  );
}

/** By one task on the whole collection, or the parts that replaced it. */
function coverageBy(
  namespace: Namespace,
  whole: RangeTask,
  tasks: readonly RangeTask[],
): NamespaceCoverage {
  const incomplete = (reason: string): NamespaceCoverage => {
    return { kind: 'incomplete', namespace, reason };
  };
  if (!hasEnded(whole)) return incomplete(`the task on the collection is ${whole.state}`);
  if (whole.parts === null) {
    return whole.read === null
      ? { kind: 'unread', namespace }
      : { kind: 'covered', namespace, ranges: 1, read: whole.read };
  }
  // Parts of another claim belong to a process that was presumed dead: their results are ignored.
  const parts = tasks
    .filter(({ part }) => part?.parent === whole.key && part.claim === whole.claim)
    .sort((one, other) => (one.part?.index ?? 0) - (other.part?.index ?? 0));
  if (parts.length !== whole.parts) {
    return incomplete(`${parts.length} of its ${whole.parts} ranges are on record`);
  }
  if (parts.length === 0) return incomplete('it was split into no ranges');
  const open = parts.filter((part) => !hasEnded(part));
  if (open.length > 0)
    return incomplete(`${open.length} of its ${whole.parts} ranges have not ended`);
  const gap = firstGap(parts);
  if (gap !== undefined) {
    return incomplete(`its ranges are not contiguous: at number ${gap + 1} of ${whole.parts}`);
  }
  const reads = parts.flatMap(({ read }) => read ?? []);
  if (reads.length < parts.length) return { kind: 'unread', namespace };
  const total = (field: keyof ReadDocuments): number =>
    reads.reduce((sum, read) => sum + read[field], 0);
  const read = {
    source: total('source'),
    destination: total('destination'),
    hashed: total('hashed'),
  };
  return { kind: 'covered', namespace, ranges: parts.length, read };
}

function hasEnded({ state }: RangeTask): boolean {
  return state === 'completed' || state === 'failed';
}

/** The index of the first range that does not begin where the previous one ends; undefined if all are contiguous. */
function firstGap(parts: readonly RangeTask[]): number | undefined {
  let end: Binary | null | undefined = null;
  for (const [index, { work }] of parts.entries()) {
    if (work.kind !== 'range' || end === undefined || !isSameBound(work.min, end)) return index;
    const isLast = index === parts.length - 1;
    if ((work.max === null) !== isLast) return index;
    end = work.max ?? undefined;
  }
  return undefined;
}

function isSameBound(one: Binary | null, other: Binary | null): boolean {
  if (one === null || other === null) return one === other;
  return Buffer.from(one.buffer).equals(other.buffer);
}

/** Groups consecutive tasks of the same namespace. */
export async function* coverageByNamespace(
  tasks: AsyncIterable<RangeTask>,
): AsyncGenerator<NamespaceCoverage, void> {
  let current: { readonly namespace: Namespace; readonly tasks: RangeTask[] } | undefined;
  for await (const task of tasks) {
    const isNext = current && namespaceText(current.namespace) !== namespaceText(task.namespace);
    if (current && isNext) yield coverageOf(current.namespace, current.tasks);
    if (!current || isNext) current = { namespace: task.namespace, tasks: [] };
    current.tasks.push(task);
  }
  if (current) yield coverageOf(current.namespace, current.tasks);
}

/** What the tasks of a finished pass prove, and why they are incomplete, if they are. */
export interface PassCoverage {
  /** The collections of which every document was read. */
  readonly covered: readonly Coverage[];
  readonly problems: readonly string[];
  /** How many rechecks the tasks have noted. */
  readonly noted: number;
}

/** Determines from the record what a finished pass has read. */
export async function readCoverage(
  context: RetryContext & { readonly stores: { readonly tasks: TaskStore } },
  run: string,
  pass: PassRecord,
): Promise<PassCoverage> {
  return await retrying(
    context,
    'coverage',
    async () => await attempt(context.stores.tasks, run, pass),
  );
}

async function attempt(
  tasks: TaskStore,
  run: string,
  { number: generation, epoch, kind, plannedTasks, noted: former }: PassRecord,
): Promise<PassCoverage> {
  const key = { run, generation, epoch };
  const covered: Coverage[] = [];
  const problems: string[] = [];
  const found = await tasks.plannedCount(key);
  if (found < plannedTasks) problems.push(`${found} of its ${plannedTasks} tasks are on record`);
  const noted = await tasks.notedCount(key);
  if (former !== null && noted !== former) {
    problems.push(`its tasks have noted ${noted} rechecks, and there were ${former}`);
  }
  for await (const coverage of coverageByNamespace(tasks.rangeTasks(key))) {
    const { namespace } = coverage;
    switch (coverage.kind) {
      case 'covered': {
        const { ranges, read } = coverage;
        covered.push({ namespace, generation, isOfLast: kind === 'last', ranges, read });
        break;
      }
      case 'incomplete':
        problems.push(`${namespaceText(namespace)}: ${coverage.reason}`);
        break;
      case 'unread':
        // Its task has noted that the whole namespace is compared again in the next pass.
        break;
    }
  }
  return { covered, problems, noted };
}
