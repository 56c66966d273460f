import { errorTable, type ErrorName, type ErrorRow } from './error-table.ts';
import { redact } from './redact.ts';

/** Errors of servers may hold whole documents, and end up in statuses and logs. */
const maxMessageLength = 8192;
const cutMark = '… (cut)';

/** The one class of errors that clustersync throws on purpose. `errorTable` says what each name means. */
export class SyncError extends Error {
  override readonly name: ErrorName;

  /** @param description - a sentence for a person; connection strings in it are redacted, and very long text is cut. */
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

/** A thrown value as an error: anything that is not one becomes its message. */
export function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}

/** The message of any thrown value, redacted, and cut if it is very long. */
export function messageOf(error: unknown): string {
  return told(error instanceof Error ? error.message : String(error));
}

/** Redacts before it cuts: half a connection string would not be recognized. */
function told(text: string): string {
  return shortened(redact(text), maxMessageLength);
}

/** A text that is longer than `maxLength`, cut, with a note that it is; any other unchanged. */
export function shortened(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  return `${text.slice(0, maxLength - cutMark.length).toWellFormed()}${cutMark}`;
}
