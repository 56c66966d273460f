import { MongoServerError } from 'mongodb';
import type { ErrorName } from '../service/error-table.ts';
import { messageOf, SyncError, toSyncError } from '../service/errors.ts';
import { codeOf, connectionError, isTransient, neededAction, serverCode } from './server-errors.ts';

/**
 * Converts any error to one whose name says what to do.
 * @param ofServer - the name for an error of a server that has no other known name; if absent, ServerRefused if a person has to
 * act, otherwise InternalError.
 */
export function namedError(error: unknown, ofServer?: ErrorName): SyncError {
  const ofConnection = connectionError(error);
  if (ofConnection) return ofConnection;
  if (codeOf(error) === serverCode.unauthorized) {
    return new SyncError('MissingPrivileges', messageOf(error), { cause: error });
  }
  // Outside of retried work: the request itself can be retried.
  if (error instanceof MongoServerError && isTransient(error))
    return new SyncError('ClusterUnreachable', messageOf(error), { cause: error });
  const action = neededAction(error);
  const name = ofServer ?? (action === undefined ? undefined : 'ServerRefused');
  if (name === undefined || !(error instanceof MongoServerError)) return toSyncError(error);
  const description = action === undefined ? messageOf(error) : `${messageOf(error)}. ${action}`;
  return new SyncError(name, description, { cause: error });
}

/** The result of `run`; its errors get a name. */
export async function naming<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    throw namedError(error);
  }
}
