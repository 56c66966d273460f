import type { Logger } from './logger.ts';

const logged = new WeakSet<Error>();

/**
 * Logs an error, but only the first time that this very error comes: what has stopped a program's work is logged where it
 * happens, and is the answer to every request from then on.
 */
export function logOnce(logger: Logger, error: Error, fields: object, message: string): void {
  if (logged.has(error)) return;
  logged.add(error);
  logger.error(fields, message);
}
