import { SyncError } from '../../service/errors.ts';
import type { Instances } from '../api/instances.ts';
import type { SyncProgress } from '../api/combine.ts';
import type { StartBody } from '../../sync-api/json.ts';

/** What a run asks before it does anything. */
interface Question {
  readonly instances: Pick<Instances, 'ready' | 'preflight'>;
  readonly body: StartBody;
  readonly signal: AbortSignal;
}

/**
 * How far the sync is that the destination holds, whichever that is.
 * @throws SyncError why it has stopped; DifferentSync before that, as the failure of another sync says nothing of this one.
 */
export async function lookAtSync({ body, instances, signal }: Question): Promise<SyncProgress> {
  try {
    return await instances.ready(signal);
  } catch (error) {
    signal.throwIfAborted();
    try {
      await instances.preflight(body, signal);
    } catch (refusal) {
      if (refusal instanceof SyncError && refusal.name === 'DifferentSync') throw refusal;
    }
    throw error;
  }
}

/**
 * Makes sure that the sync can be begun, or is the one that these options have begun.
 * @throws SyncError as the preflight does; InvalidStateTransition for one that was reversed, since nobody has compared what it has
 *   moved since then, however many times it was reversed.
 */
export async function requireOwnSync(
  { body, instances, signal }: Question,
  found: Reversible,
): Promise<void> {
  await instances.preflight(body, signal);
  requireNotReversed(found);
}

type Reversible = Pick<SyncProgress, 'reversals' | 'source'>;

/**
 * A reversal that had just begun when the sync was found shows only later: it is not committed from here, either.
 * @throws SyncError InvalidStateTransition.
 */
export function requireNotReversed({ reversals, source }: Reversible): void {
  const isReversed = (reversals ?? 0) > 0 || source?.startsWith('cluster1') === true;
  if (!isReversed) return;
  throw new SyncError(
    'InvalidStateTransition',
    'the sync has been reversed: continue it with the commands of a syncer and compare it with a verifier; run does neither',
  );
}
