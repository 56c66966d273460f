import { Command, CommanderError, Option } from 'commander';
import { SyncError } from '../service/errors.ts';
import { createLogger, type Logger, type LogLevel } from '../service/logger.ts';
import {
  compileOptions,
  environmentName,
  kebabCase,
  personalFlag,
  personalSpellings,
  type OptionRow,
  type Options,
  type OptionTable,
} from '../service/options.ts';
import { runUntilSignal } from '../service/shutdown.ts';
import { redact } from '../service/redact.ts';
import { harmless } from '../service/harmless.ts';
import { isReaderGone, readerGoneExitCode, writeError, writeOut } from '../service/terminal.ts';

/** A long-running program: its name, its options, and the function that runs it until the signal is aborted. */
export interface Program<T extends OptionTable> {
  readonly name: string;
  readonly description: string;
  readonly options: T;
  /** Loads the program on demand: each needs libraries that the others do not. */
  readonly load: () => Promise<Start<T>>;
}

/** Runs a program until the signal is aborted. */
type Start<T extends OptionTable> = (
  options: Options<T>,
  logger: Logger,
  signal: AbortSignal,
) => Promise<void>;

/** The subcommand that runs a program; its flags and help come from the table of its options. */
export function programCommand<T extends OptionTable>(program: Program<T>): Command {
  const command = commandOf(program);
  return command.action(async (flags: Record<string, unknown>) => {
    const options = compileOptions(program.options, { flags, env: process.env });
    const { logLevel } = options as { readonly logLevel?: LogLevel };
    const logger = createLogger(program.name, logLevel ?? 'info');
    warnOfSecrets(program.options, flags, programFlag, (text) => {
      logger.warn(text);
    });
    const start = await program.load();
    await runUntilSignal(logger, async (signal) => {
      await start(options, logger, signal);
    });
  });
}

/** A command that ends on its own. */
export interface OneOff<T extends OptionTable> {
  readonly name: string;
  readonly description: string;
  readonly options: T;
  /** Returns the exit code of the process. Its log goes to standard error. */
  readonly load: () => Promise<
    (options: Options<T>, logger: Logger, signal: AbortSignal) => Promise<number>
  >;
}

/** The subcommand of something that ends on its own. */
export function oneOffCommand<T extends OptionTable>(oneOff: OneOff<T>): Command {
  // Flags with the same names as those of its parent must reach this command.
  return commandOf(oneOff).action(async (_flags: unknown, command: Command) => {
    const flags = command.optsWithGlobals();
    warnOfSecrets(oneOff.options, flags, programFlag, warnPerson);
    const options = compileOptions(oneOff.options, { flags, env: process.env });
    const logger = createLogger(oneOff.name, 'warn', writeError);
    const run = await oneOff.load();
    await runOnce(logger, async (signal) => await run(options, logger, signal));
  });
}

/** A command for people: flags in the spelling of shells, and a longer help. */
export interface PersonalCommand<T extends OptionTable> extends Omit<OneOff<T>, 'load'> {
  /** Printed after the options in the help: examples, exit codes. */
  readonly help: string;
  /** A required word, for the help. */
  readonly argument?: string;
  readonly load: () => Promise<
    (
      options: Options<T>,
      logger: Logger,
      signal: AbortSignal,
      args: readonly string[],
    ) => Promise<number>
  >;
}

/** The subcommand of something that a user runs at a terminal. */
export function personalCommand<T extends OptionTable>(personal: PersonalCommand<T>): Command {
  const command = commandOf(personal, personalFlags).addHelpText('after', `\n${personal.help}`);
  if (personal.argument !== undefined) command.argument(`<${personal.argument}>`);
  return command.action(async () => {
    const { options: table } = personal;
    // Only flags that were given, without commander's defaults for the others.
    const given = Object.entries(command.opts()).filter(
      ([name]) => command.getOptionValueSource(name) === 'cli',
    );
    const flags: Readonly<Record<string, unknown>> = Object.fromEntries(given);
    warnOfSecrets(table, flags, shellFlag, warnPerson);
    const options = compileOptions(table, { flags, env: process.env, spell: kebabCase });
    const logger = createLogger(personal.name, 'fatal', writeError);
    const run = await personal.load();
    await runOnce(logger, async (signal) => await run(options, logger, signal, command.args));
    // The driver (7.8) does not abort a connection attempt to a silent host for half a minute.
    process.exit();
  });
}

/** Warns about each secret in the arguments. @param spell - spells options as flags. */
function warnOfSecrets(
  table: OptionTable,
  flags: Readonly<Record<string, unknown>>,
  spell: (name: string, part?: 'file') => string,
  warn: (text: string) => void,
): void {
  for (const [name, row] of Object.entries(table)) {
    if (row.secret !== true || flags[name] === undefined) continue;
    warn(
      `other users of this machine can see --${spell(name)} in the process list; use --${spell(name, 'file')} or ${environmentName(name)} instead`,
    );
  }
}

function warnPerson(text: string): void {
  writeError(`warning: ${text}\n`);
}

/** The spelling of a program's flags. */
function programFlag(name: string, part?: 'file'): string {
  return part ? `${name}File` : name;
}

/** The spelling of flags in shells. */
function shellFlag(name: string, part?: 'file'): string {
  return `${kebabCase(name)}${part ? '-file' : ''}`;
}

async function runOnce(
  logger: Logger,
  run: (signal: AbortSignal) => Promise<number>,
): Promise<void> {
  const main = async (signal: AbortSignal): Promise<void> => {
    try {
      process.exitCode = await run(signal);
    } catch (error) {
      if (signal.aborted) process.exitCode = exitCodes.interrupted;
      else endWith(error);
    }
  };
  await runUntilSignal(logger, main, exitCodes.failed);
}

/** Exit codes of commands that end on their own: some use 1 for data that differs. */
const exitCodes = { failed: 2, interrupted: 130 } as const;

/** Help text that is still being written. */
let helping: Promise<void> = Promise.resolve();

/** Runs the command in the arguments of the process, and sets the exit code if it fails. */
export async function runCommandLine(program: Command): Promise<void> {
  try {
    await program.parseAsync();
  } catch (error) {
    if (!(error instanceof CommanderError)) {
      endWith(error);
      return;
    }
    if (error.exitCode !== 0) process.exitCode = exitCodes.failed;
    await helping.catch(endWith);
  }
}

/** Reports how a command has failed, and sets the exit code. */
export function endWith(error: unknown): void {
  if (isReaderGone(error)) {
    process.exitCode = readerGoneExitCode;
    return;
  }
  reportError(error);
  process.exitCode = exitCodes.failed;
}

/** How a command writes its help and its errors. Wrong arguments are thrown: the process ends once the message is written. */
export function withWriters(command: Command): Command {
  return command
    .configureOutput({
      writeOut: (text) => {
        helping = Promise.all([helping, writeOut(text)]).then(() => undefined);
        // Awaited after the arguments were parsed.
        helping.catch(() => undefined);
      },
      writeErr: writeUsageError,
    })
    .exitOverride();
}

/** commander quotes wrong arguments, such as a connection string or a token after a mistyped flag. */
function writeUsageError(text: string): void {
  writeError(redact(text.replaceAll(/'(-[^\s'=]+)=[^']*'/g, "'$1'")));
}

/** Spells the options of a command as flags. */
type FlagStyle = (name: string, row: OptionRow) => readonly Option[];

/** A command with the options of a table. */
export function commandOf(
  {
    name: title,
    description,
    options,
  }: Pick<Program<OptionTable>, 'name' | 'description' | 'options'>,
  flagsOf: FlagStyle = programFlags,
): Command {
  const command = withWriters(new Command(title))
    .description(description)
    .configureHelp({
      // The descriptions have choices and defaults in their own style.
      optionDescription: ({ description: text }) => text,
      argumentDescription: ({ description: text }) => text,
    });
  for (const [name, row] of Object.entries(options))
    for (const option of flagsOf(name, row)) command.addOption(option);
  return command;
}

/** For programs: the same spelling as everywhere else, and a complete help. */
function programFlags(name: string, row: OptionRow): readonly Option[] {
  const value = row.type === 'boolean' ? '[true|false]' : `<${row.valueName ?? row.type}>`;
  const notes = [`env: ${environmentName(name)}`, ...notesOf(row)];
  if (row.secret === true) {
    const fileEnv = environmentName(`${name}File`);
    return [
      new Option(`--${name}File <path>`, `file with the ${row.description} (env: ${fileEnv})`),
      new Option(
        `--${name} ${value}`,
        `the same, as an argument: other users of the machine can see it (${notes.join('; ')})`,
      ),
    ];
  }
  const option = new Option(`--${name} ${value}`, `${row.description} (${notes.join('; ')})`);
  return [row.type === 'boolean' ? option.preset(true) : option];
}

/** For commands for people: the spelling of flags in shells. */
function personalFlags(name: string, row: OptionRow): readonly Option[] {
  const flag = personalSpellings(name, row);
  if (row.type === 'boolean') {
    const text = row.default === true ? `do not ${row.description}` : row.description;
    return [new Option(flag, text)];
  }
  const notes = notesOf(row);
  const text = `${row.description}${notes.length > 0 ? ` (${notes.join('; ')})` : ''}`;
  const value = row.valueName ?? row.type;
  const option =
    row.preset === undefined
      ? new Option(`${flag} <${value}>`, text)
      : new Option(`${flag} [${value}]`, text).preset(row.preset);
  const file = `file with the ${row.description}`;
  return [
    ...(row.secret === true ? [new Option(`${personalFlag(name, row)}-file <path>`, file)] : []),
    row.choices ? option.choices(row.choices) : option,
  ];
}

/** What the help tells of the values of an option, in the order in which it does. */
function notesOf({
  type,
  valueName = type,
  choices,
  range,
  default: usual,
  preset,
}: OptionRow): string[] {
  return [
    ...(choices ? [`one of: ${choices.join(', ')}`] : []),
    ...(range ? [`from ${range[0]} to ${range[1]}`] : []),
    ...(usual === undefined ? [] : [`default: ${usual}`]),
    ...(preset === undefined ? [] : [`${preset} if no ${valueName} is given`]),
  ];
}

/** Writes an error that ends the command, for people. Its name, if it has one of the table, can be searched for in the documentation. */
export function reportError(error: unknown): void {
  if (error instanceof SyncError) {
    const message = `${harmless(error.message)} (${error.name})`;
    writeError(`clustersync: ${message}\n${error.row.action}\n`);
  } else {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    writeError(`clustersync: ${redact(text)}\n`);
  }
}
