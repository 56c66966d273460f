import { namespaceText } from '../../mongo/namespace.ts';
import { SyncError } from '../../service/errors.ts';
import { sidesOf } from '../compare/sides.ts';
import type { Notes } from '../store/recheck-store.ts';
import { planKey, type Proof, type ScopeRecord, type TaskCounts } from '../store/records.ts';
import { selectionOptions } from '../store/selection.ts';
import type { Begun } from './following.ts';
import type { CoordinatorLease } from './coordinator-lease.ts';
import type { NextPass, PassContext } from './pass-runner.ts';
import { NotProven, prove, shownReasons } from './prove.ts';

/**
 * Gives the verdict, which is that of the last pass: different if any of its tasks found a difference, equal if each namespace is
 * proven to be. Unproven namespaces are compared again as a whole, once.
 * @param tasks - of that pass, counted at its end.
 * @returns the pass that repeats them, whose rechecks have been noted; undefined once the verdict is on record.
 * @throws SyncError CheckFailed if nothing differs, but something is not proven, or there was nothing to compare; CoordinatorLeaseLost.
 */
export async function decide(
  context: PassContext,
  lease: CoordinatorLease,
  { scope, starts }: Begun,
  tasks: Pick<TaskCounts, 'failed'>,
): Promise<Pick<NextPass, 'doubted' | 'readAfter'> | undefined> {
  const { stores, catalog, logger } = context;
  const { run, epoch, record } = lease;
  const { generation: pass } = record;
  if (pass?.kind !== 'last') throw new Error('a verdict without a last pass');
  const complete = async (verdict: 'equal' | 'different', proof: Proof | null): Promise<void> => {
    await lease.update({ status: 'complete', verdict, proof, completedAt: new Date() });
    logger.info({ verdict, ...proof }, 'the verification is complete');
    lease.wake();
  };
  const key = planKey(run, pass);
  if (tasks.failed > 0) {
    await complete('different', null);
    return undefined;
  }
  const sides = sidesOf(catalog, starts, pass.readAfter);
  const { proof, namespaces, doubts, counts } = await prove({ ...context, sides }, key);
  await lease.update();
  if (namespaces === 0) throw nothingCompared(scope);
  await stores.coverages.setCounted(run, counts);
  if (doubts.length === 0) {
    await complete('equal', proof);
    return undefined;
  }
  const reasons = doubts.map(({ namespace, reason }) => `${namespaceText(namespace)}: ${reason}`);
  if (pass.isAgain) throw new NotProven('no difference was found, but', reasons);
  logger.warn({ namespaces: shownReasons(reasons) }, 'comparing again namespaces without proof');
  const doubted: Notes = {
    note: `doubts:${pass.number}:${epoch}`,
    first: 0,
    rechecks: doubts.map(({ namespace }) => ({ kind: 'whole', namespace })),
  };
  await stores.rechecks.add(run, pass.number + 1, [doubted]);
  return { doubted, readAfter: pass.readAfter };
}

/** How a verification ends that has nothing to compare at its end: `equal` would say nothing about the intended data. */
function nothingCompared(scope: ScopeRecord): SyncError {
  const isOfAll = selectionOptions.every((option) => scope[option] === null);
  return new SyncError(
    'CheckFailed',
    isOfAll
      ? 'neither side has a collection or view to compare. Make sure that the connection strings name the intended clusters, then start another verification'
      : 'the filter selects no namespace on either side. Correct the filter, then start another verification',
  );
}
