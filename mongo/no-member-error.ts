import { MongoServerSelectionError, type ReadPreferenceMode } from 'mongodb';
import { SyncError } from '../service/errors.ts';
import { maxStalenessSeconds } from './command-on-router.ts';

/**
 * That there is no member to read although others can be reached; undefined for any other failure. To be asked only of what has no
 * name of its own, such as a refused login.
 */
export function noMemberError(
  error: unknown,
  readPreference: ReadPreferenceMode,
): SyncError | undefined {
  if (!(error instanceof MongoServerSelectionError) || readPreference === 'primary')
    return undefined;
  const servers = [...(error.reason?.servers.values() ?? [])];
  if (!servers.some(({ isDataBearing }) => isDataBearing)) return undefined;
  const description = `no member can be read with the read preference ${readPreference}: use another one, or see whether a secondary is down or more than ${maxStalenessSeconds} s behind`;
  return new SyncError('ClusterUnreachable', description, { cause: error });
}
