import {
  functionName,
  pathsOf,
  quoted,
  wordsOf,
  type CompletionCommand,
  type CompletionFlag,
} from './commands.ts';

/** The script that teaches bash to complete the executable. */
export function bashScript(name: string, commands: readonly CompletionCommand[]): string {
  const values = commands.flatMap(({ path, flags }) =>
    flags.flatMap((flag) => valueCase(path, flag)),
  );
  const words = commands.map(
    (command) => `    ${quoted(command.path)}) words=${quoted(wordsOf(command).join(' '))} ;;`,
  );
  const call = functionName(name);
  return [
    `${call}() {`,
    '  local current previous path="" words="" index word',
    '  current="${COMP_WORDS[COMP_CWORD]}"',
    '  previous="${COMP_WORDS[COMP_CWORD-1]}"',
    '  for ((index = 1; index < COMP_CWORD; index++)); do',
    '    word="${COMP_WORDS[index]}"',
    '    case "${path:+$path }$word" in',
    `      ${pathsOf(commands).map(quoted).join('|')}) path="\${path:+$path }$word" ;;`,
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
