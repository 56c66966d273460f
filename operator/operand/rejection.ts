import { messageOf } from '../../service/errors.ts';
import { isAlreadyExists, isInvalid, KubeError } from '../kube/kube-error.ts';
import { ForeignObjectError } from './applier.ts';
import type { Trouble } from './trouble.ts';

/** What an error says of the objects that were to be made; undefined where it says nothing: then it is to be retried. */
export function rejectionOf(error: unknown): Trouble | undefined {
  const message = messageOf(error);
  if (error instanceof ForeignObjectError || isAlreadyExists(error)) {
    return { reason: 'NameConflict', message, level: 'warning' };
  }
  if (isInvalid(error) || isUntyped(error)) {
    return { reason: 'InvalidPodTemplate', message, level: 'stalled' };
  }
  if (error instanceof KubeError && error.statusCode === 403) {
    return { reason: 'Forbidden', message, level: 'stalled' };
  }
  return undefined;
}

/** What server-side apply answers to a field of another type, or of no known name: it has no status of its own. */
function isUntyped(error: unknown): boolean {
  return (
    error instanceof KubeError &&
    error.statusCode === 500 &&
    error.message.includes('failed to create typed patch object')
  );
}
