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
}

/** The script that teaches bash to complete the executable. */
export function bashScript(name: string, commands: readonly CompletionCommand[]): string {
  const paths = commands.map(({ path }) => path).filter((path) => path !== '');
  const values = commands.flatMap(({ path, flags }) =>
    flags.flatMap((flag) => valueCase(path, flag)),
  );
  const words = commands.map(
    ({ path, commands: below, flags }) =>
      `    ${quoted(path)}) words=${quoted([...below, ...flags.map((flag) => flag.name)].join(' '))} ;;`,
  );
  const call = `_${name.replaceAll('-', '_')}`;
  return [
    `${call}() {`,
    '  local current previous path="" words="" index word',
    '  current="${COMP_WORDS[COMP_CWORD]}"',
    '  previous="${COMP_WORDS[COMP_CWORD-1]}"',
    '  for ((index = 1; index < COMP_CWORD; index++)); do',
    '    word="${COMP_WORDS[index]}"',
    '    case "${path:+$path }$word" in',
    `      ${paths.map(quoted).join('|')}) path="\${path:+$path }$word" ;;`,
    '    esac',
    '  done',
    '  case "$path" in',
    ...words,
    '  esac',
    '  case "$path $previous" in',
    ...values,
    '  esac',
    '  COMPREPLY=($(compgen -W "$words" -- "$current"))',
    '}',
    `complete -F ${call} ${name}`,
    '',
  ].join('\n');
}

function valueCase(path: string, { name, value }: CompletionFlag): string[] {
  const pattern = quoted(`${path} ${name}`);
  if (value === 'none') return [];
  if (value === 'file') {
    return [`    ${pattern}) COMPREPLY=($(compgen -f -- "$current")); return ;;`];
  }
  return [`    ${pattern}) words=${quoted(value === 'any' ? '' : value.join(' '))} ;;`];
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
