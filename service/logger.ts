import { pino, type Logger } from 'pino';
import { shortened } from './errors.ts';
import { redact } from './redact.ts';
import { harmlessJson, writeLog } from './terminal.ts';
import type { OptionTable } from './options.ts';

export type { Logger };

/** A line that is longer has what others have said in it, such as the error of a server. */
const maxLineLength = 32 * 1024;

/** What is left of each field of such a line. */
const maxFieldLength = 8 * 1024;

/** Levels of the log, from the most to the least talkative. */
export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const;
export type LogLevel = (typeof logLevels)[number];

/** How much a program logs. */
export const logOptions = {
  logLevel: {
    type: 'string',
    default: 'info',
    choices: logLevels,
    description: 'log level',
  },
} as const satisfies OptionTable;

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
        write(harmlessJson(bounded(redact(line))));
      },
    },
  );
}

/** A line of a length that a log takes; where it is cut, it is JSON still. After it is redacted: half a password would not be known. */
function bounded(line: string): string {
  if (line.length <= maxLineLength) return line;
  const fields = Object.entries(JSON.parse(line) as Readonly<Record<string, unknown>>);
  const short = fields.map(([name, value]) => {
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    return [name, text.length <= maxFieldLength ? value : shortened(text, maxFieldLength)] as const;
  });
  return `${JSON.stringify(Object.fromEntries(short))}\n`;
}
