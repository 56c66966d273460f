import { objectOf } from '../service/json-fields.ts';
import { answeredError, type AnsweredError } from './answer-error.ts';
import type { ApiAnswer } from './http-client.ts';
import type { WritesOffAlready } from './json.ts';

/** The meaning of an answer to a command. */
export type CommandAnswer =
  | { readonly kind: 'taken' }
  | { readonly kind: 'refused'; readonly error: AnsweredError }
  /** It says neither. */
  | { readonly kind: 'unclear'; readonly description: string };

type Answered = Pick<ApiAnswer, 'status' | 'body'>;

/** The answer of a verifier that has already been told that writes have stopped. */
export const writesOffAlready: WritesOffAlready = { error: 'writesOff already set' };

/** Reads a syncer's answer to a command. Only an explicit success counts: a commit cannot be taken back. */
export function readSyncerCommand({ status, body }: Answered): CommandAnswer {
  if (objectOf(body)['success'] === true) return { kind: 'taken' };
  const error = answeredError(body);
  return error
    ? { kind: 'refused', error }
    : { kind: 'unclear', description: `HTTP ${status} without success` };
}

/** Reads a verifier's answer to a command. A repetition counts as accepted. */
export function readVerifierCommand({ status, body }: Answered): CommandAnswer {
  if (objectOf(body)['error'] === writesOffAlready.error) return { kind: 'taken' };
  const error = answeredError(body);
  if (error) return { kind: 'refused', error };
  return status >= 200 && status < 300
    ? { kind: 'taken' }
    : { kind: 'unclear', description: `HTTP ${status}` };
}
