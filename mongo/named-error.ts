import { MongoServerError } from 'mongodb';
import type { ErrorName } from '../service/error-table.ts';
import { messageOf, SyncError, toSyncError } from '../service/errors.ts';
import { codeOf, connectionError, serverCode } from './server-errors.ts';

/**
 * Any error under a name that says what to do.
 * @param ofServer - the name of what a server refuses and no other name is known for; InternalError when absent.
 */
export function namedError(error: unknown, ofServer?: ErrorName): SyncError {
  const ofConnection = connectionError(error);
  if (ofConnection) return ofConnection;
  if (codeOf(error) === serverCode.unauthorized) {
    return new SyncError('MissingPrivileges', messageOf(error), { cause: error });
  }
  return ofServer !== undefined && error instanceof MongoServerError
    ? new SyncError(ofServer, messageOf(error), { cause: error })
    : toSyncError(error);
}

/** What `run` gives; what it throws, under a name. */
export async function naming<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    throw namedError(error);
  }
}
