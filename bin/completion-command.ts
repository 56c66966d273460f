import { Argument, type Command, type Option } from 'commander';
import { bashScript, zshScript, fishScript } from '../cli/completion/scripts.ts';
import type { CompletionCommand, CompletionFlag } from '../cli/completion/commands.ts';
import { commandOf } from './program-command.ts';
import { writeOut } from '../service/terminal.ts';

const scripts = new Map([
  ['bash', bashScript],
  ['zsh', zshScript],
  ['fish', fishScript],
]);

const shells = [...scripts.keys()];

/** The subcommand that prints the completion script of its parent. */
export function completionCommand(program: Command): Command {
  const name = program.name();
  return commandOf({
    name: 'completion',
    description: 'Print the completion script for a shell',
    options: {},
  })
    .addArgument(
      new Argument('<shell>', `shell that reads it (one of: ${shells.join(', ')})`).choices(shells),
    )
    .addHelpText(
      'after',
      `
Examples:
  $ source <(${name} completion bash)     # in ~/.bashrc for every shell
  $ source <(${name} completion zsh)      # in ~/.zshrc, after compinit
  $ ${name} completion fish | source      # in ~/.config/fish/config.fish`,
    )
    .action(async (shell: string) => {
      await writeOut(scripts.get(shell)?.(name, commandsOf(program)) ?? '');
    });
}

/** A command and all its subcommands, as far as a shell completes them. @param path - the words that lead to it. */
export function commandsOf(command: Command, path = ''): CompletionCommand[] {
  const below = command.commands.map((one) => ({
    one,
    path: path === '' ? one.name() : `${path} ${one.name()}`,
  }));
  return [
    {
      path,
      commands: below.map(({ one }) => one.name()),
      flags: [...command.options.flatMap(flagsOf), { name: '--help', value: 'none' }],
      hasArgument: command.registeredArguments.length > 0,
    },
    ...below.flatMap((each) => commandsOf(each.one, each.path)),
  ];
}

/** An option, once for each spelling of its flag. */
function flagsOf(option: Option): readonly CompletionFlag[] {
  const value = valueOf(option);
  return [option.long, option.short].flatMap((name) =>
    name === undefined ? [] : [{ name, value }],
  );
}

function valueOf({ required, argChoices, flags }: Option): CompletionFlag['value'] {
  if (argChoices) return argChoices;
  if (/<(path|file)>$/.test(flags)) return 'file';
  // A flag with an optional value may be followed by another flag.
  return required ? 'any' : 'none';
}
