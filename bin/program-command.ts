import { Command, Option } from 'commander';
import { SyncError } from '../service/errors.ts';
import { createLogger, type Logger, type LogLevel } from '../service/logger.ts';
import {
  compileOptions,
  environmentName,
  kebabCase,
  type OptionRow,
  type Options,
  type OptionTable,
} from '../service/options.ts';
import { runUntilSignal } from '../service/shutdown.ts';

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
    const options = compileOptions(oneOff.options, {
      flags: command.optsWithGlobals(),
      env: process.env,
    });
    const logger = createLogger(oneOff.name, 'warn', (line) => process.stderr.write(line));
    const run = await oneOff.load();
    await runOnce(logger, async (signal) => await run(options, logger, signal));
  });
}

/** A command for people: flags are spelt in the way of shells, and its help says more. */
export interface PersonalCommand<T extends OptionTable> extends OneOff<T> {
  /** Follows the list of options in the help: examples, exit codes. */
  readonly help: string;
}

/** The subcommand of something that a person asks for at a terminal. */
export function personalCommand<T extends OptionTable>(personal: PersonalCommand<T>): Command {
  const command = commandOf(personal, kebabCase).addHelpText('after', `\n${personal.help}`);
  return command.action(async (flags: Record<string, unknown>) => {
    const { options: table } = personal;
    warnOfSecrets(table, flags);
    const options = compileOptions(table, { flags, env: process.env, spell: kebabCase });
    const logger = createLogger(personal.name, 'fatal', (line) => process.stderr.write(line));
    const run = await personal.load();
    await runOnce(logger, async (signal) => await run(options, logger, signal));
    // The driver (7.8) leaves a connection alone that is being made to a host that says nothing, for half a minute.
    process.exit();
  });
}

function warnOfSecrets(table: OptionTable, flags: Readonly<Record<string, unknown>>): void {
  for (const [name, row] of Object.entries(table)) {
    if (row.secret !== true || flags[name] === undefined) continue;
    const flag = kebabCase(name);
    process.stderr.write(
      `warning: others on this machine can see --${flag} in the list of processes; --${flag}-file and ${environmentName(name)} keep it to yourself\n`,
    );
  }
}

async function runOnce(
  logger: Logger,
  run: (signal: AbortSignal) => Promise<number>,
): Promise<void> {
  await runUntilSignal(logger, async (signal) => {
    try {
      process.exitCode = await run(signal);
    } catch (error) {
      signal.throwIfAborted();
      reportError(error);
      process.exitCode = 2;
    }
  });
}

function commandOf(
  {
    name: title,
    description,
    options,
  }: Pick<Program<OptionTable>, 'name' | 'description' | 'options'>,
  spell: (option: string) => string = (option) => option,
): Command {
  const command = new Command(title).description(description);
  for (const [name, row] of Object.entries(options)) {
    command.addOption(flagOf(name, row, spell));
    if (row.secret) {
      command.addOption(
        new Option(
          `--${spell(`${name}File`)} <path>`,
          `the same, read from a file (env: ${environmentName(`${name}File`)})`,
        ),
      );
    }
  }
  return command;
}

function flagOf(name: string, row: OptionRow, spell: (option: string) => string): Option {
  const value = row.type === 'boolean' ? '[true|false]' : `<${row.valueName ?? row.type}>`;
  const notes = [
    `env: ${environmentName(name)}`,
    ...(row.default === undefined ? [] : [`default: ${row.default}`]),
    ...(row.range ? [`from ${row.range[0]} to ${row.range[1]}`] : []),
    ...(row.choices ? [`one of: ${row.choices.join(', ')}`] : []),
  ];
  const option = new Option(
    `--${spell(name)} ${value}`,
    `${row.description} (${notes.join('; ')})`,
  );
  return row.type === 'boolean' ? option.preset(true) : option;
}

/** Writes an error that ends the command for a person to read. */
export function reportError(error: unknown): void {
  if (error instanceof SyncError) {
    process.stderr.write(`clustersync: ${error.message}\n${error.row.action}\n`);
  } else {
    process.stderr.write(
      `clustersync: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`,
    );
  }
}
