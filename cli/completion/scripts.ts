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
    flags.flatMap((flag) => bashValueCase(path, flag)),
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

function bashValueCase(path: string, { name, value }: CompletionFlag): string[] {
  const pattern = quoted(`${path} ${name}`);
  if (value === 'none') return [];
  if (value === 'file') return [`    ${pattern}) compopt -o default 2>/dev/null; return 0 ;;`];
  return [`    ${pattern}) words=(${value === 'any' ? '' : wordList(value)}) ;;`];
}

function wordList(words: readonly string[]): string {
  return words.map(quoted).join(' ');
}

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
    ...commands.flatMap(({ path, flags }) => flags.flatMap((flag) => zshValueCase(path, flag))),
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

function zshValueCase(path: string, { name, value }: CompletionFlag): string[] {
  const pattern = quoted(`${path} ${name}`);
  if (value === 'none') return [];
  if (value === 'file') return [`    ${pattern}) _files; return ;;`];
  if (value === 'any') return [`    ${pattern}) return ;;`];
  return [`    ${pattern}) compadd -- ${value.map(quoted).join(' ')}; return ;;`];
}

/** The script with which fish completes the executable. */
export function fishScript(name: string, commands: readonly CompletionCommand[]): string {
  const call = `_${functionName(name)}_words`;
  return [
    `function ${call}`,
    '    set -l words (commandline -opc)',
    '    set -l previous $words[-1]',
    '    set -e words[1]',
    "    set -l line ''",
    '    for word in $words',
    '        switch (string trim -- "$line $word")',
    `            case ${pathsOf(commands).map(fishQuoted).join(' ')}`,
    '                set line (string trim -- "$line $word")',
    '        end',
    '    end',
    '    switch "$line $previous"',
    ...commands.flatMap(({ path, flags }) => flags.flatMap((flag) => fishValueCase(path, flag))),
    '    end',
    '    switch "$line"',
    ...commands.flatMap((command) => [
      `        case ${fishQuoted(command.path)}`,
      `            ${fishPrinted(wordsOf(command))}`,
    ]),
    '    end',
    'end',
    `complete -c ${name} -f -a '(${call})'`,
    '',
  ].join('\n');
}

function fishValueCase(path: string, { name, value }: CompletionFlag): string[] {
  const head = `        case ${fishQuoted(`${path} ${name}`)}`;
  if (value === 'none') return [];
  if (value === 'file') {
    return [head, '            __fish_complete_path (commandline -ct)', '            return'];
  }
  if (value === 'any') return [head, '            return'];
  return [head, `            ${fishPrinted(value)}`, '            return'];
}

/** One word per line, as fish reads the output of a command substitution. */
function fishPrinted(words: readonly string[]): string {
  return `printf '%s\\n' ${words.map(fishQuoted).join(' ')}`;
}

function fishQuoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
