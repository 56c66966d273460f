import { pino, type Logger } from 'pino';
import { redact } from './redact.ts';

export type { Logger };

/** Levels of the log, from the most to the least talkative. */
export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const;
export type LogLevel = (typeof logLevels)[number];

/**
 * A logger that writes one JSON object a line. Every line is redacted as a whole before it is written, so that no
 * connection string gets out by whatever field it came in.
 * @param write - takes each line; standard output by default.
 */
export function createLogger(
  program: string,
  level: LogLevel,
  write: (line: string) => void = (line) => process.stdout.write(line),
): Logger {
  return pino(
    {
      level,
      base: { program },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    {
      write: (line: string) => {
        write(redact(line));
      },
    },
  );
}
