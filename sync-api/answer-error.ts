import { objectOf, textOf } from '../service/json-fields.ts';
import { redact } from '../service/redact.ts';

/** An error in a program's answer. */
export interface AnsweredError {
  /** CamelCase: one of the table of errors, or another tool's name for it; undefined if the tool gives it no name. */
  readonly name: string | undefined;
  /** Connection strings in it are redacted. */
  readonly description: string;
}

/** The error in the body of an answer, if there is one: `{error: "Name: description"}`, or the name and `errorDescription`. */
export function answeredError(body: unknown): AnsweredError | undefined {
  const { error, errorDescription } = objectOf(body);
  const text = textOf(error);
  return text === undefined ? undefined : errorInText(text, textOf(errorDescription));
}

/**
 * The error in a text, as `Name: description`, or only in words.
 * @param described - its description, if that is given separately.
 */
export function errorInText(text: string, described?: string): AnsweredError {
  const [, name, rest = ''] = /^([A-Z][A-Za-z0-9]{1,62})(?::(.*))?$/s.exec(text) ?? [];
  if (name !== undefined) return { name, description: redact(described ?? rest.trimStart()) };
  const whole = described === undefined ? text : `${text}: ${described}`;
  return { name, description: redact(whole) };
}

/** The name of the error in a text; null if it has none, or there is no error. */
export function errorNameIn(text: string | null): string | null {
  return text === null ? null : (errorInText(text).name ?? null);
}

/** Whether a tool does not have what was requested, according to the status of its answer. */
export function isNotServed(status: number): boolean {
  return [404, 405, 501].includes(status);
}
