import { MongoServerError, type ErrorDescription } from 'mongodb';
import type { CheckedValue } from './checked-value.ts';

/** What a server says of one statement of a write that it has refused. */
export interface WriteError {
  /** The place of the statement in the command. */
  readonly index: number;
  readonly code: number;
  /** Of the index that has refused a document, where that is told. */
  readonly keyPattern: Readonly<Record<string, unknown>> | undefined;
  /** The same as an error of the server. */
  readonly toError: () => MongoServerError;
}

/** What a server answers to an insert, update or delete. */
export interface WriteAnswer {
  /** How many documents were inserted, met or deleted. */
  readonly n: number;
  readonly writeErrors: readonly WriteError[];
  /** The places of the statements that have inserted a document. */
  readonly upserted: readonly number[];
  readonly writeConcernError: MongoServerError | undefined;
}

/**
 * Reads what a server answers to a write: once for each answer. That its numbers and places add up is looked at before
 * (answer-form.ts).
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

function writeError(error: CheckedValue): WriteError {
  const description = descriptionOf(error);
  return {
    index: error.field('index').count(),
    code: error.field('code').integer(),
    keyPattern: error.optional('keyPattern')?.document(),
    toError: () => new MongoServerError(description),
  };
}

/** The whole of it: a server says more of some errors than is read here. */
function descriptionOf(error: CheckedValue): ErrorDescription {
  return { ...error.document() };
}
