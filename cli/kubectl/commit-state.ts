import { objectOf, textOf, type JsonObject } from '../../service/json-fields.ts';
import { durationText } from '../../service/quantities.ts';
import { fieldLines } from '../render/formats.ts';
import { conditionIn, readSync, type Condition, type SyncResource } from './resources.ts';

/** What to know of a sync before its commit is requested, for people. */
export function stateBeforeCommit(sync: SyncResource): string {
  const { name, source, destination, direction, phase, lagSeconds, conditions } = sync;
  const condition = conditionIn(conditions, 'ReadyToCommit');
  return fieldLines({
    sync: `${name}  (${source} ${direction === 'Reverse' ? '<-' : '->'} ${destination})`,
    phase,
    lag: lagSeconds === null ? 'unknown' : durationText(lagSeconds),
    ReadyToCommit: condition ? `${condition.status} ${reasonText(condition)}` : 'unknown',
  });
}

/** How far a requested commit is. */
export interface CommitState {
  /** `stalled`: it needs a person. `withdrawn`: the spec has been changed since, as to go back. */
  readonly kind: 'committed' | 'stalled' | 'withdrawn' | 'waiting';
  readonly text: string;
}

/** How far the commit is that a ClusterSync, as the API server returns it, requests. */
export function commitState(object: JsonObject): CommitState {
  const { phase, conditions, direction, desired: state, isObserved } = readSync(object);
  if (state !== 'Committed')
    return { kind: 'withdrawn', text: 'its spec no longer has the state Committed' };
  if (!isObserved) return { kind: 'waiting', text: 'the operator has not seen the request yet' };
  const desired = textOf(objectOf(object['spec'])['direction']) ?? 'Forward';
  if (conditionIn(conditions, 'Committed')?.status === 'True') {
    return (direction ?? 'Forward') === desired
      ? { kind: 'committed', text: 'Committed' }
      : { kind: 'waiting', text: `${phase}, and not reversed yet` };
  }
  const stalled = conditionIn(conditions, 'Stalled');
  if (stalled?.status === 'True')
    return { kind: 'stalled', text: `${stalled.reason}: ${stalled.message}` };
  const ready = conditionIn(conditions, 'Ready');
  return { kind: 'waiting', text: ready ? `${phase} ${reasonText(ready)}` : phase };
}

function reasonText({ reason, message }: Condition): string {
  return `(${reason})${message === '' ? '' : `: ${message}`}`;
}
