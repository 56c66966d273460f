import {
  functionName,
  pathsOf,
  quoted,
  wordsOf,
  type CompletionCommand,
  type CompletionFlag,
} from './commands.ts';

/** The script with which zsh completes the executable: to be sourced, or put into a folder of `fpath`. */
export function zshScript(name: string, commands: readonly CompletionCommand[]): string {
  const call = functionName(name);
  // Not `path`: zsh ties that name to PATH.
  return [
    `#compdef ${name}`,
    `${call}() {`,
    '  local line="" word',
    '  integer index',
    '  for ((index = 2; index < CURRENT; index++)); do',
    '    word="${words[index]}"',
    '    case "${line:+$line }$word" in',
    `      ${pathsOf(commands).map(quoted).join('|')}) line="\${line:+$line }$word" ;;`,
    '    esac',
    '  done',
    '  case "$line ${words[CURRENT-1]}" in',
    ...commands.flatMap(({ path, flags }) => flags.flatMap((flag) => valueCase(path, flag))),
    '  esac',
    '  case "$line" in',
    ...commands.map((command) => {
      return `    ${quoted(command.path)}) compadd -- ${wordsOf(command).map(quoted).join(' ')} ;;`;
    }),
    '  esac',
    '}',
    `if [[ "\${funcstack[1]}" == ${call} ]]; then ${call} "$@"; else compdef ${call} ${name}; fi`,
    '',
  ].join('\n');
}

function valueCase(path: string, { name, value }: CompletionFlag): string[] {
  const pattern = quoted(`${path} ${name}`);
  if (value === 'none') return [];
  if (value === 'file') return [`    ${pattern}) _files; return ;;`];
  if (value === 'any') return [`    ${pattern}) return ;;`];
  return [`    ${pattern}) compadd -- ${value.map(quoted).join(' ')}; return ;;`];
}
