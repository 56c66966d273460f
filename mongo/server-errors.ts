import {
  Int32,
  MongoBulkWriteError,
  MongoDriverError,
  MongoError,
  MongoNetworkError,
  MongoNetworkTimeoutError,
  MongoOperationTimeoutError,
  MongoServerError,
  MongoServerSelectionError,
  MongoUnexpectedServerResponseError,
} from 'mongodb';
import { messageOf, SyncError } from '../service/errors.ts';
import { attemptProblem, type ConnectionAttempt } from './connection-attempt.ts';
import { MalformedAnswer } from './malformed-answer.ts';
import { tlsProblem } from './tls-errors.ts';
import { serverCodeOf, type CodeClass, type CodeGroup } from './server-codes.ts';

/** Server codes that are used by name: the table of codes has all codes. */
export const serverCode = {
  graphContainsCycle: 5,
  unauthorized: 13,
  authenticationFailed: 18,
  namespaceNotFound: 26,
  indexNotFound: 27,
  cursorNotFound: 43,
  namespaceExists: 48,
  maxTimeMsExpired: 50,
  commandNotFound: 59,
  shardKeyNotFound: 61,
  immutableField: 66,
  invalidOptions: 72,
  indexOptionsConflict: 85,
  indexKeySpecsConflict: 86,
  cappedPositionLost: 136,
  viewDepthLimitExceeded: 165,
  commandNotSupportedOnView: 166,
  optionNotSupportedOnView: 167,
  invalidPipelineOperator: 168,
  queryPlanKilled: 175,
  viewPipelineMaxSizeExceeded: 195,
  queryFeatureNotAllowed: 224,
  snapshotUnavailable: 246,
  changeStreamFatalError: 280,
  changeStreamHistoryLost: 286,
  cannotConvertIndexToUnique: 359,
  collectionUuidMismatch: 361,
  cannotDropShardKeyIndex: 370,
  bsonObjectTooLarge: 10334,
  duplicateKey: 11000,
  databaseDiffersInCase: 13297,
  unknownStage: 40324,
} as const;

/** The server's code of an error, if it has one; also for an answer whose numbers keep their BSON types. */
export function codeOf(error: unknown): number | undefined {
  if (!(error instanceof MongoServerError)) return undefined;
  const code: unknown = error.code;
  return typeof code === 'number' || code instanceof Int32 ? Number(code) : undefined;
}

/**
 * True for errors that pass without action, so that the same command may be retried. A refused login is one of them for work
 * that has been under way: a member that has just started knows no users for a moment (seen on 6.0.5).
 */
export function isTransient(error: unknown): boolean {
  if (error instanceof SyncError)
    return error.row.retryable || error.name === 'AuthenticationFailed';
  if (isConnectionFailure(error) || isMalformedAnswer(error) || isTimeNotHeardOf(error))
    return true;
  if (!(error instanceof MongoError)) return false;
  if (
    error.hasErrorLabel('RetryableWriteError') ||
    error.hasErrorLabel('TransientTransactionError')
  )
    return true;
  return classOf(error) === 'transient';
}

/** The class of a server's error, by the table of codes; undefined for any other error. */
function classOf(error: unknown): CodeClass | undefined {
  if (!(error instanceof MongoServerError)) return undefined;
  return groupOf(error)?.class ?? 'unclear';
}

function groupOf(error: unknown): CodeGroup | undefined {
  const code = codeOf(error);
  return code === undefined ? undefined : serverCodeOf(code)?.group;
}

/** True for a server's error that may or may not be temporary: retried for a limited time (see Patience). */
export function isUnclear(error: unknown): boolean {
  return classOf(error) === 'unclear' && !isTransient(error);
}

/** True if a server refuses what was sent, and will again. */
export function isRefused(error: unknown): boolean {
  return classOf(error) === 'ours' && !isTransient(error);
}

/** What a person has to do about a server's error; undefined if nobody has to act. */
export function neededAction(error: unknown): string | undefined {
  return classOf(error) === 'theirs' ? groupOf(error)?.meaning : undefined;
}

/** True if a document is refused because an index cannot have its keys. */
export function isRefusedByIndex(error: unknown): boolean {
  return groupOf(error)?.refuses === 'keys';
}

/** True if the answer to the creation of an index says that it is impossible: in this form, or over these documents. */
export function isIndexRefused(error: unknown): boolean {
  return groupOf(error)?.refuses !== undefined && !isTransient(error);
}

/**
 * True if a server refused to read after a cluster time that it had not heard of yet, from another router. Servers pass the
 * time on with every message, so the error is temporary.
 */
export function isTimeNotHeardOf(error: unknown): boolean {
  if (codeOf(error) !== serverCode.invalidOptions) return false;
  const message = messageOf(error);
  const start = message.indexOf('afterClusterTime ');
  return start >= 0 && message.includes(' greater than the current clusterTime', start);
}

/** True for a read of a capped collection at one time, which is impossible (6.0.5). */
export function isCappedSnapshot(error: unknown): boolean {
  return codeOf(error) === serverCode.snapshotUnavailable && messageOf(error).includes('capped');
}

/** The name of an error for metrics: one of a bounded set. */
export function errorNameOf(error: unknown): string {
  if (error instanceof SyncError) return error.name;
  const connection = connectionError(error);
  if (connection) return connection.name;
  if (error instanceof MongoServerError && error.codeName !== undefined) return error.codeName;
  const code = codeOf(error);
  if (code !== undefined) return `code ${code}`;
  return error instanceof Error ? error.name : 'unknown';
}

const networkCalls = new Set([
  ...['read', 'write', 'connect', 'shutdown', 'getaddrinfo'],
  // From looking up a name of mongodb+srv.
  ...['querySrv', 'queryTxt'],
]);
const closedSocketCodes = new Set([
  'ERR_STREAM_DESTROYED',
  'ERR_STREAM_PREMATURE_CLOSE',
  // A write after the other side has ended: node:net reports it itself.
  'EPIPE',
]);

/**
 * True if a connection could not be made, or broke, or did not answer by a deadline. The driver (7.8) throws the socket's own
 * error when it breaks while a long command is being sent, and wraps any error in one of its bulk writes, which then has no
 * server code.
 */
function isConnectionFailure(error: unknown): boolean {
  if (error instanceof MongoNetworkError || error instanceof MongoServerSelectionError) return true;
  if (error instanceof MongoOperationTimeoutError) return true;
  // Not exported by the driver, which also throws it for our own deadline if that ends in its queue for connections.
  if (error instanceof MongoDriverError && error.name === 'MongoWaitQueueTimeoutError') return true;
  if (error instanceof DOMException) return error.name === 'TimeoutError';
  if (error instanceof MongoBulkWriteError)
    return codeOf(error) === undefined && [error.writeErrors].flat().length === 0;
  if (!(error instanceof Error) || error instanceof MongoError || isFileFailure(error))
    return false;
  const { code, syscall } = error as NodeJS.ErrnoException;
  return networkCalls.has(syscall ?? '') || closedSocketCodes.has(code ?? '');
}

const fileCalls = new Set(['open', 'read']);
const fileCodes = new Set(['ENOENT', 'EACCES', 'EISDIR', 'ENOTDIR']);

/** True if the driver (7.8) could not read a file that a connection string names: it does so when it connects. */
function isFileFailure(error: Error): boolean {
  const { code, syscall } = error as NodeJS.ErrnoException;
  return fileCalls.has(syscall ?? '') && fileCodes.has(code ?? '');
}

/** True if the other side has closed a connection that waited for an answer, even if the error has been named. */
export function isConnectionClosed(error: unknown): boolean {
  if (error instanceof SyncError) return isConnectionClosed(error.cause);
  return error instanceof MongoNetworkError && !(error instanceof MongoNetworkTimeoutError);
}

/** True if a cursor is gone, but the same read can be started again. */
export function isCursorLost(error: unknown): boolean {
  const code = codeOf(error);
  return (
    code === serverCode.cursorNotFound ||
    code === serverCode.cappedPositionLost ||
    code === serverCode.queryPlanKilled
  );
}

/** Also if the driver (7.8) finds that an answer is malformed. */
function isMalformedAnswer(error: unknown): boolean {
  return error instanceof MalformedAnswer || error instanceof MongoUnexpectedServerResponseError;
}

/** Why a server is not chosen, if there is a more specific reason than that it is unreachable. */
function errorOfServer(error: Error, cause: Error): SyncError | undefined {
  if (codeOf(error) === serverCode.authenticationFailed)
    return new SyncError('AuthenticationFailed', error.message, { cause });
  // A closed pool has the reason as its cause.
  const malformed = [error, error.cause].find(isMalformedAnswer);
  if (malformed !== undefined)
    return new SyncError('ServerAnswerMalformed', messageOf(malformed), { cause });
  const problem = tlsProblem(error);
  return problem === undefined
    ? undefined
    : new SyncError('ClusterUnreachable', problem, { cause });
}

/** What to do about a name of mongodb+srv that DNS does not know; undefined for any other error. */
function lookupProblem(error: Error): string | undefined {
  const { code, syscall } = error as NodeJS.ErrnoException;
  if (syscall !== 'querySrv' || (code !== 'ENOTFOUND' && code !== 'ENODATA')) return undefined;
  return `${error.message}: correct the host of mongodb+srv, whose SRV record DNS must know here, or name the servers (mongodb://...)`;
}

/**
 * A connection error under its name; undefined for any other.
 * @param attempt - of a client's first connection: the description then says what to do.
 */
export function connectionError(
  error: unknown,
  attempt?: ConnectionAttempt,
): SyncError | undefined {
  if (error instanceof SyncError) return undefined;
  if (!(error instanceof Error)) return undefined;
  if (codeOf(error) === serverCode.authenticationFailed) {
    return new SyncError('AuthenticationFailed', error.message, { cause: error });
  }
  if (isFileFailure(error)) {
    const description = `the connection string names a file that cannot be read: ${error.message}`;
    return new SyncError('InvalidOption', description, { cause: error });
  }
  if (isMalformedAnswer(error))
    return new SyncError('ServerAnswerMalformed', error.message, { cause: error });
  if (error instanceof MongoServerSelectionError) {
    const inner = error.reason?.servers.values() ?? [];
    for (const server of inner) {
      const named = server.error && errorOfServer(server.error, error);
      if (named) return named;
    }
    const problem = attempt && attemptProblem(error, attempt);
    return new SyncError('ClusterUnreachable', problem ?? error.message, { cause: error });
  }
  if (isConnectionFailure(error)) {
    const description = tlsProblem(error) ?? lookupProblem(error) ?? error.message;
    return new SyncError('ClusterUnreachable', description, { cause: error });
  }
  return undefined;
}
