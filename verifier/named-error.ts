import { MongoServerError } from 'mongodb';
import { codeOf, connectionError, serverCode } from '../mongo/server-errors.ts';
import { messageOf, SyncError, toSyncError } from '../service/errors.ts';

/** An error under a name that tells a person what to do. */
export function namedError(error: unknown): SyncError {
  const ofConnection = connectionError(error);
  if (ofConnection) return ofConnection;
  if (!(error instanceof MongoServerError)) return toSyncError(error);
  const name = codeOf(error) === serverCode.unauthorized ? 'MissingPrivileges' : 'CheckFailed';
  return new SyncError(name, messageOf(error), { cause: error });
}
