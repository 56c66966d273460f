import {
  functionName,
  pathsOf,
  quoted,
  wordsOf,
  type CompletionCommand,
  type CompletionFlag,
} from './commands.ts';

/**
 * The script with which bash completes the executable. File names are untrusted: bash itself offers and
 * quotes them, and no candidate is ever expanded.
 */
export function bashScript(name: string, commands: readonly CompletionCommand[]): string {
  const values = commands.flatMap(({ path, flags }) =>
    flags.flatMap((flag) => valueCase(path, flag)),
  );
  const words = commands.map(
    (command) => `    ${quoted(command.path)}) words=(${wordList(wordsOf(command))}) ;;`,
  );
  const call = functionName(name);
  return [
    `${call}() {`,
    '  local current previous path="" index word',
    '  local -a words=()',
    '  COMPREPLY=()',
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
    // With `set -u`, bash 4.3 and older treat an empty array as unset.
    '  for word in ${words[@]+"${words[@]}"}; do',
    '    [[ "$word" == "$current"* ]] && COMPREPLY+=("$word")',
    '  done',
    '  return 0',
    '}',
    // bash 3.2 has no compopt: there, files are offered if there is nothing else to offer.
    'if type compopt >/dev/null 2>&1; then',
    `  complete -F ${call} ${name}`,
    'else',
    `  complete -o default -F ${call} ${name}`,
    'fi',
    '',
  ].join('\n');
}

function valueCase(path: string, { name, value }: CompletionFlag): string[] {
  const pattern = quoted(`${path} ${name}`);
  if (value === 'none') return [];
  if (value === 'file') return [`    ${pattern}) compopt -o default 2>/dev/null; return 0 ;;`];
  return [`    ${pattern}) words=(${value === 'any' ? '' : wordList(value)}) ;;`];
}

function wordList(words: readonly string[]): string {
  return words.map(quoted).join(' ');
}
