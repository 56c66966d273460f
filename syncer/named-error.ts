import { codeOf, connectionError, serverCode } from '../mongo/server-errors.ts';
import { messageOf, SyncError, toSyncError } from '../service/errors.ts';

/** Any error under a name that says what to do. */
export function namedError(error: unknown): SyncError {
  if (codeOf(error) === serverCode.unauthorized)
    return new SyncError('MissingPrivileges', messageOf(error), { cause: error });
  return toSyncError(connectionError(error) ?? error);
}

/** What `run` gives; what it throws, under a name. */
export async function naming<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    throw namedError(error);
  }
}
