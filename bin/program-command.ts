import { Command, CommanderError, Option } from 'commander';
import { SyncError } from '../service/errors.ts';
import { createLogger, type Logger, type LogLevel } from '../service/logger.ts';
import {
  compileOptions,
  environmentName,
  kebabCase,
  personalFlag,
  type OptionRow,
  type Options,
  type OptionTable,
} from '../service/options.ts';
import { runUntilSignal } from '../service/shutdown.ts';
import { redact } from '../service/redact.ts';
import { harmless } from '../service/harmless.ts';
import { isReaderGone, readerGoneExitCode, writeError, writeOut } from '../service/terminal.ts';

/** A long-running program: its name, its options, and what runs it until the signal is aborted. */
export interface Program<T extends OptionTable> {
  readonly name: string;
  readonly description: string;
  readonly options: T;
  /** Loads the program when it is asked for: each needs libraries that the others do without. */
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

/** A command that does one thing and ends. */
export interface OneOff<T extends OptionTable> {
  readonly name: string;
  readonly description: string;
  readonly options: T;
  /** Gives the exit code of the process. Its log goes where errors go. */
  readonly load: () => Promise<
    (options: Options<T>, logger: Logger, signal: AbortSignal) => Promise<number>
  >;
}

/** The subcommand of something that ends by itself. */
export function oneOffCommand<T extends OptionTable>(oneOff: OneOff<T>): Command {
  // What has flags of the same names as its parent is given them all the same.
  return commandOf(oneOff).action(async (_flags: unknown, command: Command) => {
    const flags = command.optsWithGlobals();
    warnOfSecrets(oneOff.options, flags, programFlag, warnPerson);
    const options = compileOptions(oneOff.options, { flags, env: process.env });
    const logger = createLogger(oneOff.name, 'warn', writeError);
    const run = await oneOff.load();
    await runOnce(logger, async (signal) => await run(options, logger, signal));
  });
}

/** A command for people: flags are spelt in the way of shells, and its help says more. */
export interface PersonalCommand<T extends OptionTable> extends Omit<OneOff<T>, 'load'> {
  /** Follows the list of options in the help: examples, exit codes. */
  readonly help: string;
  /** A word that has to be given, for the help. */
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

/** The subcommand of something that a person asks for at a terminal. */
export function personalCommand<T extends OptionTable>(personal: PersonalCommand<T>): Command {
  const command = commandOf(personal, personalFlags).addHelpText('after', `\n${personal.help}`);
  if (personal.argument !== undefined) command.argument(`<${personal.argument}>`);
  return command.action(async () => {
    const { options: table } = personal;
    // Not what commander makes of a flag that was not given.
    const given = Object.entries(command.opts()).filter(
      ([name]) => command.getOptionValueSource(name) === 'cli',
    );
    const flags: Readonly<Record<string, unknown>> = Object.fromEntries(given);
    warnOfSecrets(table, flags, shellFlag, warnPerson);
    const options = compileOptions(table, { flags, env: process.env, spell: kebabCase });
    const logger = createLogger(personal.name, 'fatal', writeError);
    const run = await personal.load();
    await runOnce(logger, async (signal) => await run(options, logger, signal, command.args));
    // The driver (7.8) leaves a connection alone that is being made to a host that says nothing, for half a minute.
    process.exit();
  });
}

/** Warns of each secret that stands in the arguments. @param spell - how options are spelt as flags. */
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

/** As flags of programs are spelt. */
function programFlag(name: string, part?: 'file'): string {
  return part ? `${name}File` : name;
}

/** As flags of shells are spelt. */
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

/** Exit codes of commands that end by themselves: 1 is what some of them say of data that differs. */
const exitCodes = { failed: 2, interrupted: 130 } as const;

/** Text of help, as far as it is being written. */
let helping: Promise<void> = Promise.resolve();

/** Runs the command that the arguments of the process ask for, and sets the exit code where that fails. */
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

/** Says how a command has failed, and sets the exit code. */
export function endWith(error: unknown): void {
  if (isReaderGone(error)) {
    process.exitCode = readerGoneExitCode;
    return;
  }
  reportError(error);
  process.exitCode = exitCodes.failed;
}

/** How a command writes its help and its errors. Wrong arguments are thrown: the process ends when that is written. */
export function withWriters(command: Command): Command {
  return command
    .configureOutput({
      writeOut: (text) => {
        helping = Promise.all([helping, writeOut(text)]).then(() => undefined);
        // It is awaited when the arguments have been looked at.
        helping.catch(() => undefined);
      },
      writeErr: writeUsageError,
    })
    .exitOverride();
}

/** commander quotes wrong arguments: a connection string or a token behind a flag that is mistyped, for one. */
function writeUsageError(text: string): void {
  writeError(redact(text.replaceAll(/'(-[^\s'=]+)=[^']*'/g, "'$1'")));
}

/** How the options of a command are spelt as flags. */
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
  const command = withWriters(new Command(title)).description(description);
  for (const [name, row] of Object.entries(options))
    for (const option of flagsOf(name, row)) command.addOption(option);
  return command;
}

/** Of programs: spelt as everywhere else; the help tells all that there is to know. */
function programFlags(name: string, row: OptionRow): readonly Option[] {
  const value = row.type === 'boolean' ? '[true|false]' : `<${row.valueName ?? row.type}>`;
  const notes = [
    `env: ${environmentName(name)}`,
    ...(row.default === undefined ? [] : [`default: ${row.default}`]),
    ...rangeOf(row),
    ...(row.choices ? [`one of: ${row.choices.join(', ')}`] : []),
  ];
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

/** Of commands for people: spelt as flags of shells are. */
function personalFlags(name: string, row: OptionRow): readonly Option[] {
  const flag = personalFlag(name, row);
  if (row.type === 'boolean') {
    const text = row.default === true ? `do not ${row.description}` : row.description;
    return [new Option(flag, text)];
  }
  const notes = [
    ...(row.default === undefined ? [] : [`default: ${row.default}`]),
    ...rangeOf(row),
  ];
  const text = `${row.description}${notes.length > 0 ? ` (${notes.join('; ')})` : ''}`;
  const value = row.valueName ?? row.type;
  const option =
    row.preset === undefined
      ? new Option(`${flag} <${value}>`, text)
      : new Option(`${flag} [${value}]`, text).preset(row.preset);
  const file = `file with the ${row.description}`;
  return [
    ...(row.secret === true ? [new Option(`${flag}-file <path>`, file)] : []),
    row.choices ? option.choices(row.choices) : option,
  ];
}

function rangeOf({ range }: OptionRow): string[] {
  return range ? [`from ${range[0]} to ${range[1]}`] : [];
}

/** Writes an error that ends the command for a person to read. */
export function reportError(error: unknown): void {
  if (error instanceof SyncError) {
    writeError(`clustersync: ${harmless(error.message)}\n${error.row.action}\n`);
  } else {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    writeError(`clustersync: ${redact(text)}\n`);
  }
}
