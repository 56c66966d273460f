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

/** What may be at a place in a command line. */
export type Offer =
  | { readonly kind: 'words'; readonly words: readonly string[] }
  | { readonly kind: 'files' }
  /** The argument of the command, or one of its flags. */
  | { readonly kind: 'argument'; readonly words: readonly string[] };

/**
 * What is offered for the last of the words of a command line, which may be empty.
 * @param words - what follows the name of the executable.
 */
export function offerFor(commands: readonly CompletionCommand[], words: readonly string[]): Offer {
  const byPath = new Map(commands.map((command) => [command.path, command]));
  let path = '';
  let previous = '';
  let isArgumentGiven = false;
  for (const word of words.slice(0, -1)) {
    const longer = path === '' ? word : `${path} ${word}`;
    if (byPath.has(longer)) path = longer;
    else if (!word.startsWith('-') && !takesValue(byPath.get(path), previous))
      isArgumentGiven = true;
    previous = word;
  }
  const command = byPath.get(path);
  const { value = 'none' } = command?.flags.find(({ name }) => name === previous) ?? {};
  const last = words.at(-1) ?? '';
  if (value === 'file') return { kind: 'files' };
  if (value === 'any') return { kind: 'words', words: [] };
  const all =
    value === 'none'
      ? [...(command?.commands ?? []), ...(command?.flags.map(({ name }) => name) ?? [])]
      : value;
  const fitting = all.filter((word) => word.startsWith(last));
  const wantsArgument = value === 'none' && command?.hasArgument === true && !isArgumentGiven;
  return { kind: wantsArgument ? 'argument' : 'words', words: fitting };
}

function takesValue(command: CompletionCommand | undefined, flag: string): boolean {
  const { value = 'none' } = command?.flags.find(({ name }) => name === flag) ?? {};
  return value !== 'none';
}
