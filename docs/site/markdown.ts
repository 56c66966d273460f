import GithubSlugger from 'github-slugger';
import MarkdownIt, { type Token } from 'markdown-it';

/** A heading of a page. */
export interface Heading {
  readonly level: number;
  readonly text: string;
  /** What stands after `#` in a link to it, as GitHub gives it. */
  readonly anchor: string;
}

/** A block of code of a page. */
export interface CodeBlock {
  /** `sh`, `yaml`; empty where none is named. */
  readonly language: string;
  readonly text: string;
  /** The text of the heading that it stands below. */
  readonly heading: string;
}

/** A page that was read. */
export interface Page {
  readonly headings: readonly Heading[];
  readonly codeBlocks: readonly CodeBlock[];
  /** The targets of its links and pictures, in their order, as they are written. */
  readonly links: readonly string[];
  /** HTML of it. `link` says what a target becomes. */
  render(link: (target: string) => string): string;
}

const markdown = new MarkdownIt({ html: true, linkify: false });

/** Where a token of a link or a picture keeps its target. */
const targetAttributes: Readonly<Record<string, string>> = { link_open: 'href', image: 'src' };

/** Reads Markdown as GitHub does: with tables, HTML, and an anchor for each heading. */
export function readPage(text: string): Page {
  const tokens = markdown.parse(text, {});
  const headings = nameHeadings(tokens);
  const targets = tokens
    .flatMap((token) => token.children ?? [])
    .flatMap((token) => {
      const attribute = targetAttributes[token.type];
      const target = attribute === undefined ? null : token.attrGet(attribute);
      return attribute === undefined || target === null
        ? []
        : [{ token, attribute, target: decodeURI(String(target)) }];
    });
  return {
    headings,
    codeBlocks: codeBlocksOf(tokens),
    links: targets.map(({ target }) => target),
    render: (link) => {
      for (const { token, attribute, target } of targets) {
        token.attrSet(attribute, link(target));
      }
      const html = markdown.renderer.render(tokens, markdown.options, {});
      // A wide table is scrolled by itself, not with the page.
      return html
        .replaceAll('<table>', '<div class="table" tabindex="0"><table>')
        .replaceAll('</table>', '</table></div>');
    },
  };
}

/** Gives each heading its id. */
function nameHeadings(tokens: readonly Token[]): Heading[] {
  const slugger = new GithubSlugger();
  return tokens.flatMap((token, index) => {
    if (token.type !== 'heading_open') return [];
    const text = plainText(tokens[index + 1]);
    const anchor = slugger.slug(text);
    token.attrSet('id', anchor);
    return [{ level: Number(token.tag.slice(1)), text, anchor }];
  });
}

function codeBlocksOf(tokens: readonly Token[]): CodeBlock[] {
  let heading = '';
  return tokens.flatMap((token, index) => {
    if (token.type === 'heading_open') heading = plainText(tokens[index + 1]);
    if (token.type !== 'fence') return [];
    return [{ language: token.info.trim(), text: token.content, heading }];
  });
}

function plainText(inline: Token | undefined): string {
  return (inline?.children ?? [])
    .filter(({ type }) => type === 'text' || type === 'code_inline')
    .map(({ content }) => content)
    .join('');
}
