import { Argument, type Command, type Option } from 'commander';
import {
  bashScript,
  type CompletionCommand,
  type CompletionFlag,
} from '../cli/completion/completion-script.ts';
import { commandOf } from './program-command.ts';

/** The subcommand that prints the completion script of its parent. */
export function completionCommand(program: Command): Command {
  const name = program.name();
  return commandOf({
    name: 'completion',
    description: 'prints the script that completes commands in bash',
    options: {},
  })
    .addArgument(new Argument('<shell>').choices(['bash']))
    .addHelpText(
      'after',
      `\nExample:\n  $ source <(${name} completion bash)   # in ~/.bashrc for every shell`,
    )
    .action(() => {
      process.stdout.write(bashScript(name, commandsOf(program, '')));
    });
}

function commandsOf(command: Command, path: string): CompletionCommand[] {
  const below = command.commands.map((one) => ({
    one,
    path: path === '' ? one.name() : `${path} ${one.name()}`,
  }));
  return [
    {
      path,
      commands: below.map(({ one }) => one.name()),
      flags: [...command.options.map(flagOf), { name: '--help', value: 'none' }],
    },
    ...below.flatMap((each) => commandsOf(each.one, each.path)),
  ];
}

function flagOf({ long, short, required, optional, argChoices, flags }: Option): CompletionFlag {
  const name = long ?? short ?? '';
  if (argChoices) return { name, value: argChoices };
  if (/<(path|file)>$/.test(flags)) return { name, value: 'file' };
  return { name, value: required || optional ? 'any' : 'none' };
}
