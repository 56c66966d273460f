import { MongoServerError, type ErrorDescription } from 'mongodb';
import type { CheckedValue } from './checked-value.ts';

/** A server's error for one refused statement of a write. */
export interface WriteError {
  /** The place of the statement in the command. */
  readonly index: number;
  readonly code: number;
  /** Of the index that has refused a document, if the server reports it. */
  readonly keyPattern: Readonly<Record<string, unknown>> | undefined;
  /** The same as a server error. */
  readonly toError: () => MongoServerError;
}

/** A server's answer to an insert, update or delete. */
export interface WriteAnswer {
  /** How many documents were inserted, matched or deleted. */
  readonly n: number;
  readonly writeErrors: readonly WriteError[];
  /** The places of the statements that have inserted a document. */
  readonly upserted: readonly number[];
  readonly writeConcernError: MongoServerError | undefined;
}

/**
 * Reads a server's answer to a write: once for each answer. Its numbers and places were checked before (answer-form.ts).
 * @throws MalformedAnswer
 */
export function writeAnswer(answer: CheckedValue): WriteAnswer {
  const concern = answer.optional('writeConcernError');
  return {
    n: answer.field('n').count(),
    writeErrors: (answer.optional('writeErrors')?.list() ?? []).map(writeError),
    upserted: (answer.optional('upserted')?.list() ?? []).map((one) => one.field('index').count()),
    writeConcernError: concern && new MongoServerError(descriptionOf(concern)),
  };
}

/** Throws what a write command reports in an answer that is `ok`, except for expected write errors. */
export function throwWriteErrors(
  { writeErrors, writeConcernError }: WriteAnswer,
  isExpected: (writeError: WriteError) => boolean,
): void {
  const unexpected = writeErrors.find((writeError) => !isExpected(writeError));
  if (unexpected) throw unexpected.toError();
  if (writeConcernError) throw writeConcernError;
}

function writeError(error: CheckedValue): WriteError {
  const description = descriptionOf(error);
  return {
    index: error.field('index').count(),
    code: error.field('code').integer(),
    keyPattern: error.optional('keyPattern')?.document(),
    toError: () => new MongoServerError(description),
  };
}

/** The whole error: a server reports more about some errors than is read here. */
function descriptionOf(error: CheckedValue): ErrorDescription {
  return { ...error.document() };
}
