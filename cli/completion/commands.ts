/** A flag of a command. */
export interface CompletionFlag {
  /** With its dashes. */
  readonly name: string;
  /** What may follow it: one of these words, a file, any text, or nothing. */
  readonly value: readonly string[] | 'file' | 'any' | 'none';
}

/** A command, as far as a shell completes it. */
export interface CompletionCommand {
  /** The words that lead to it, without the name of the executable: empty for the executable itself. */
  readonly path: string;
  readonly commands: readonly string[];
  readonly flags: readonly CompletionFlag[];
  /** Whether a word is required, such as a name. Default: false. */
  readonly hasArgument?: boolean;
}

/** Text quoted as one word for Bourne-like shells. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** What may follow a command: the names of its subcommands, and its flags. */
export function wordsOf({ commands, flags }: CompletionCommand): string[] {
  return [...commands, ...flags.map(({ name }) => name)];
}

/** The paths of all commands except the executable itself. */
export function pathsOf(commands: readonly CompletionCommand[]): string[] {
  return commands.map(({ path }) => path).filter((path) => path !== '');
}

/** The name of the function that a script defines. */
export function functionName(name: string): string {
  return `_${name.replaceAll('-', '_')}`;
}
