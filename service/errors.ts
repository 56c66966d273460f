import { errorTable, type ErrorName, type ErrorRow } from './error-table.ts';
import { redact } from './redact.ts';

/** Errors of servers may hold whole documents; they are kept in statuses and logs. */
const maxMessageLength = 8192;
const cutMark = '… (cut)';

/** The one class of errors that clustersync throws on purpose. `errorTable` says what each name means. */
export class SyncError extends Error {
  override readonly name: ErrorName;

  /** @param description - a sentence for a person; connection strings in it are redacted, and what is very long is cut. */
  constructor(name: ErrorName, description: string, options?: { readonly cause?: unknown }) {
    super(told(description), options);
    this.name = name;
  }

  /** The row of the table of errors for this name. */
  get row(): ErrorRow {
    return errorTable[this.name];
  }
}

/** Any thrown value as a SyncError: itself, or InternalError with its message as the description. */
export function toSyncError(error: unknown): SyncError {
  if (error instanceof SyncError) return error;
  return new SyncError('InternalError', messageOf(error), { cause: error });
}

/** What was thrown, as an error: whatever else it was becomes its message. */
export function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}

/** The message of any thrown value, redacted, and cut where it is very long. */
export function messageOf(error: unknown): string {
  return told(error instanceof Error ? error.message : String(error));
}

/** Cuts after it redacts: half a connection string would not be known for one. */
function told(text: string): string {
  return shortened(redact(text), maxMessageLength);
}

/** The beginning of a text that is longer than `maxLength`, which says that it is cut; any other as it is. */
export function shortened(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  return `${text.slice(0, maxLength - cutMark.length).toWellFormed()}${cutMark}`;
}
