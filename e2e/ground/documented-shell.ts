import { readPage } from '../../docs/site/markdown.ts';

/** A command of a page, with what the page says of it. */
export interface DocumentedCommand {
  /** Without its comment. */
  readonly command: string;
  /** It is left running: the line ends in `&`. */
  readonly isBackground: boolean;
  /** It is repeated until its output contains this: `# until <text>`. */
  readonly until: string | undefined;
  /** What it writes, if the page says it (`#>`); `...` stands for anything, none of it included. */
  readonly output: string | undefined;
}

/**
 * The commands of the first shell block below a heading.
 * @throws Error when the page has no such heading, or nothing of the kind below it.
 */
export function documentedCommands(text: string, heading: string): DocumentedCommand[] {
  if (!readPage(text).headings.some((each) => each.text === heading))
    throw new Error(`there is no heading ${heading}`);
  const [, below = ''] = text.split(new RegExp(`^#+ ${heading}$`, 'm'));
  const block = /^```sh\n(.*?)^```/ms.exec(below)?.[1];
  if (block === undefined) throw new Error(`there are no commands below ${heading}`);
  const commands: DocumentedCommand[] = [];
  for (const line of block.split('\n')) {
    const last = commands.at(-1);
    if (line.startsWith('#> ') && last) {
      commands.splice(-1, 1, { ...last, output: `${last.output ?? ''}${line.slice(3)}\n` });
    } else if (line !== '' && !line.startsWith('#')) {
      const [command = '', until] = line.split(/\s+# until /);
      const isBackground = command.endsWith(' &');
      const plain = command.replace(/ &$/, '');
      commands.push({ command: plain, isBackground, until, output: undefined });
    }
  }
  return commands;
}

/** Whether a command has written what its page says. */
export function isAsDocumented(written: string, documented: string): boolean {
  const parts = documented.trimEnd().split('...');
  const escaped = parts.map((part) => part.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`));
  return new RegExp(`^${escaped.join('.*')}$`, 's').test(written.trimEnd());
}
