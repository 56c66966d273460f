import { MongoServerError } from 'mongodb';
import type { ErrorName } from '../service/error-table.ts';
import { messageOf, SyncError, toSyncError } from '../service/errors.ts';
import { codeOf, connectionError, isTransient, neededAction, serverCode } from './server-errors.ts';

/**
 * Any error under a name that says what to do.
 * @param ofServer - the name of what a server refuses and no other name is known for; when absent, ServerRefused where a person
 *   has to act, otherwise InternalError.
 */
export function namedError(error: unknown, ofServer?: ErrorName): SyncError {
  const ofConnection = connectionError(error);
  if (ofConnection) return ofConnection;
  if (codeOf(error) === serverCode.unauthorized) {
    return new SyncError('MissingPrivileges', messageOf(error), { cause: error });
  }
  // Outside of work that is repeated: the request may be.
  if (error instanceof MongoServerError && isTransient(error))
    return new SyncError('ClusterUnreachable', messageOf(error), { cause: error });
  const action = neededAction(error);
  const name = ofServer ?? (action === undefined ? undefined : 'ServerRefused');
  if (name === undefined || !(error instanceof MongoServerError)) return toSyncError(error);
  const description = action === undefined ? messageOf(error) : `${messageOf(error)}. ${action}`;
  return new SyncError(name, description, { cause: error });
}

/** What `run` gives; what it throws, under a name. */
export async function naming<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    throw namedError(error);
  }
}
