import { namespaceText } from '../../mongo/namespace.ts';
import { retrying, type RetryContext } from '../../mongo/retrying.ts';
import type { Coverage, GenerationRecord } from '../store/records.ts';
import type { TaskStore } from '../store/task-store.ts';
import { coverageByNamespace } from './coverage.ts';

/** What the tasks of a pass that is over prove, and why they are not all that there have to be. */
export interface PassCoverage {
  /** The collections of which every document was read. */
  readonly covered: readonly Coverage[];
  readonly problems: readonly string[];
  /** How many rechecks the tasks have noted. */
  readonly noted: number;
}

/** Reads from what is on record what a pass that is over has read. */
export async function readCoverage(
  context: RetryContext & { readonly stores: { readonly tasks: TaskStore } },
  run: string,
  generation: GenerationRecord,
): Promise<PassCoverage> {
  return await retrying(
    context,
    'coverage',
    async () => await attempt(context.stores.tasks, run, generation),
  );
}

async function attempt(
  tasks: TaskStore,
  run: string,
  { number: generation, epoch, kind, plannedTasks, noted: former }: GenerationRecord,
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
        // Its task has noted that the namespace is compared as a whole in the next pass.
        break;
    }
  }
  return { covered, problems, noted };
}
