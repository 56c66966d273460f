import { pino, type Logger } from 'pino';
import { redact } from './redact.ts';
import { harmlessJson, writeLog } from './terminal.ts';

export type { Logger };

/** Levels of the log, from the most to the least talkative. */
export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const;
export type LogLevel = (typeof logLevels)[number];

/**
 * A logger that writes one JSON object a line. Every line is redacted as a whole before it is written, so that no
 * connection string gets out by whatever field it came in; nothing in it directs a terminal.
 * @param write - takes each line; standard output by default.
 */
export function createLogger(
  program: string,
  level: LogLevel,
  write: (line: string) => void = writeLog,
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
        write(harmlessJson(redact(line)));
      },
    },
  );
}
