import { pino, type Logger } from 'pino';
import { shortened } from './errors.ts';
import { redact } from './redact.ts';
import { harmlessJson, writeLog } from './terminal.ts';
import type { OptionTable } from './options.ts';

export type { Logger };

/** A longer line quotes others, for example the error of a server. */
const maxLineLength = 32 * 1024;

/** The length to which each field of such a line is cut. */
const maxFieldLength = 8 * 1024;

/** Levels of the log, from the most to the least verbose. */
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
 * A logger that writes one JSON object a line. Every line is redacted as a whole before it is written, so that no connection
 * string gets out in any field; nothing in it controls a terminal.
 * @param write - writes each line; to standard output by default.
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

/**
 * A line within the log's length limit; a cut line is still JSON. Cut only after redacting: half a password would not be
 * recognized.
 */
function bounded(line: string): string {
  if (line.length <= maxLineLength) return line;
  const fields = Object.entries(JSON.parse(line) as Readonly<Record<string, unknown>>);
  const short = fields.map(([name, value]) => {
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    return [name, text.length <= maxFieldLength ? value : shortened(text, maxFieldLength)] as const;
  });
  return `${JSON.stringify(Object.fromEntries(short))}\n`;
}
