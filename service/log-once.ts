import type { Logger } from './logger.ts';

const logged = new WeakSet<Error>();

/**
 * Logs an error, but only the first time that this very error object appears: an error that has stopped a program's work is
 * logged where it happens, and answers every later request.
 */
export function logOnce(logger: Logger, error: Error, fields: object, message: string): void {
  if (logged.has(error)) return;
  logged.add(error);
  logger.error(fields, message);
}
