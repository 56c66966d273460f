import {
  functionName,
  pathsOf,
  wordsOf,
  type CompletionCommand,
  type CompletionFlag,
} from './commands.ts';

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
    `            case ${pathsOf(commands).map(quoted).join(' ')}`,
    '                set line (string trim -- "$line $word")',
    '        end',
    '    end',
    '    switch "$line $previous"',
    ...commands.flatMap(({ path, flags }) => flags.flatMap((flag) => valueCase(path, flag))),
    '    end',
    '    switch "$line"',
    ...commands.flatMap((command) => [
      `        case ${quoted(command.path)}`,
      `            ${printed(wordsOf(command))}`,
    ]),
    '    end',
    'end',
    `complete -c ${name} -f -a '(${call})'`,
    '',
  ].join('\n');
}

function valueCase(path: string, { name, value }: CompletionFlag): string[] {
  const head = `        case ${quoted(`${path} ${name}`)}`;
  if (value === 'none') return [];
  if (value === 'file') {
    return [head, '            __fish_complete_path (commandline -ct)', '            return'];
  }
  if (value === 'any') return [head, '            return'];
  return [head, `            ${printed(value)}`, '            return'];
}

/** One word per line, as fish reads the output of a command substitution. */
function printed(words: readonly string[]): string {
  return `printf '%s\\n' ${words.map(quoted).join(' ')}`;
}

function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
