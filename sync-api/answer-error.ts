import { objectOf, textOf } from '../service/json-fields.ts';
import { redact } from '../service/redact.ts';

/** An error that a program has answered. */
export interface AnsweredError {
  /** CamelCase: one of the table of errors, or whatever another tool calls it; undefined where the tool gives it no name. */
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
 * The error that a text tells, as `Name: description`, or in words alone.
 * @param described - its description, where that is told apart.
 */
export function errorInText(text: string, described?: string): AnsweredError {
  const [, name, rest = ''] = /^([A-Z][A-Za-z0-9]{1,62})(?::(.*))?$/s.exec(text) ?? [];
  if (name !== undefined) return { name, description: redact(described ?? rest.trimStart()) };
  const whole = described === undefined ? text : `${text}: ${described}`;
  return { name, description: redact(whole) };
}

/** Whether a tool does not have what it was asked for, as far as the status of its answer says. */
export function isNotServed(status: number): boolean {
  return [404, 405, 501].includes(status);
}
