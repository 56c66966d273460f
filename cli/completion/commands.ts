/** A flag of a command. */
export interface CompletionFlag {
  /** With its dashes. */
  readonly name: string;
  /** What may follow it: one of these words, a file, anything, or nothing. */
  readonly value: readonly string[] | 'file' | 'any' | 'none';
}

/** A command, as far as a shell completes it. */
export interface CompletionCommand {
  /** The words that lead to it, without the name of the executable: empty for itself. */
  readonly path: string;
  readonly commands: readonly string[];
  readonly flags: readonly CompletionFlag[];
  /** A word has to be given, such as a name. Default: false. */
  readonly hasArgument?: boolean;
}

/** Text as one word of a shell of the Bourne family. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** What can stand for a command: the names of those below it, and its flags. */
export function wordsOf({ commands, flags }: CompletionCommand): string[] {
  return [...commands, ...flags.map(({ name }) => name)];
}

/** The paths of all commands but the executable itself. */
export function pathsOf(commands: readonly CompletionCommand[]): string[] {
  return commands.map(({ path }) => path).filter((path) => path !== '');
}

/** The name of the function that a script defines. */
export function functionName(name: string): string {
  return `_${name.replaceAll('-', '_')}`;
}
