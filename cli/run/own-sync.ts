import { SyncError } from '../../service/errors.ts';
import type { Instances } from '../api/instances.ts';
import type { SyncProgress } from '../api/combine.ts';
import type { StartBody } from '../../sync-api/json.ts';

/** What a run checks before it does anything. */
interface Question {
  readonly instances: Pick<Instances, 'ready' | 'preflight'>;
  readonly body: StartBody;
  readonly signal: AbortSignal;
}

/** What begins a sync. */
interface Beginning {
  readonly instances: Pick<Instances, 'start' | 'limits'>;
  readonly body: StartBody;
  readonly signal: AbortSignal;
}

/**
 * The progress of the sync on the destination, whichever that is.
 * @throws SyncError why it has stopped; DifferentSync and ResetUnderWay take precedence, as the failure of another sync, or of one that
 *   is about to be gone, says nothing about this one.
 */
export async function lookAtSync({ body, instances, signal }: Question): Promise<SyncProgress> {
  try {
    return await instances.ready(signal);
  } catch (error) {
    signal.throwIfAborted();
    try {
      await instances.preflight(body, signal);
    } catch (refusal) {
      const isOfOther = ['DifferentSync', 'ResetUnderWay'];
      if (refusal instanceof SyncError && isOfOther.includes(refusal.name)) throw refusal;
    }
    throw error;
  }
}

/**
 * Ensures that the sync can be started, or was started with these options.
 * @throws SyncError like the preflight; InvalidStateTransition for one that was reversed, however often, since nobody has compared what
 *   it has moved since then.
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
 * A reversal that had just begun when the sync was found becomes visible only later: such a sync is not committed from here, either.
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

/**
 * Starts the instances that have not been started yet, and gives the limits of this command to a sync that another one has begun: such a
 * sync takes none from a start. Those of the previous command stay if this one has none.
 */
export async function beginSync(
  { instances, body, signal }: Beginning,
  found: SyncProgress,
): Promise<'started' | 'continued'> {
  const isIdle = found.instances.map(({ state }) => state === 'IDLE');
  if (isIdle.includes(true)) await instances.start(body, found, signal);
  const isBegun = isIdle.includes(false) && found.state !== 'COMMITTED';
  if (body.limits && isBegun) await instances.limits(body.limits, signal);
  return isIdle.includes(true) ? 'started' : 'continued';
}
