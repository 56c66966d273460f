import type { CompletionCommand } from './commands.ts';

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
