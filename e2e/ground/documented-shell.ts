import { readPage } from '../../docs/site/markdown.ts';

/** A command of a page, and what the page says about it. */
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
 * The commands of the shell blocks between a heading and the next one; a line that ends in a backslash continues on the next.
 * @throws Error when there are none.
 */
export function documentedCommands(text: string, heading: string): DocumentedCommand[] {
  const blocks = readPage(text).codeBlocks.filter((block) => {
    return block.heading === heading && block.language === 'sh';
  });
  if (blocks.length === 0) throw new Error(`there are no commands below ${heading}`);
  const commands: DocumentedCommand[] = [];
  const lines = blocks.flatMap((block) => block.text.replaceAll(/ *\\\n */g, ' ').split('\n'));
  for (const line of lines) {
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
