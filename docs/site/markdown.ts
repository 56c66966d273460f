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

/** What stands between a heading and the next one. */
export interface PagePart {
  /** Undefined before the first heading. */
  readonly heading: Heading | undefined;
  /** Its words and its code, on one line, without marks. */
  readonly text: string;
}

/** A page that was read. */
export interface Page {
  readonly headings: readonly Heading[];
  readonly parts: readonly PagePart[];
  readonly codeBlocks: readonly CodeBlock[];
  /** The targets of its links and pictures as they are written: those of HTML after all others. */
  readonly links: readonly string[];
  /** HTML of it. `link` says what a target becomes. */
  render(link: (target: string) => string): string;
}

const markdown = new MarkdownIt({ html: true, linkify: false });

/** Where a token of a link or a picture keeps its target. */
const targetAttributes: Readonly<Record<string, string>> = { link_open: 'href', image: 'src' };

/** The targets of pictures that are written as HTML, which can name another one for the dark. */
const htmlTargets = /(?<=<(?:img|source)\s[^>]*?\b(?:src|srcset)=")[^"]+(?=")/g;

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
  const html = tokens
    .flatMap((token) => [token, ...(token.children ?? [])])
    .filter(({ type }) => type === 'html_block' || type === 'html_inline')
    .map((token) => ({ token, content: token.content }));
  return {
    headings,
    parts: partsOf(tokens, headings),
    codeBlocks: codeBlocksOf(tokens),
    links: [
      ...targets.map(({ target }) => target),
      ...html.flatMap(({ content }) => content.match(htmlTargets) ?? []),
    ],
    render: (link) => {
      for (const { token, attribute, target } of targets) {
        token.attrSet(attribute, link(target));
      }
      for (const { token, content } of html)
        token.content = content.replaceAll(htmlTargets, (target) => link(target));
      const rendered = markdown.renderer.render(tokens, markdown.options, {});
      // A wide table is scrolled on its own, not with the page.
      return rendered
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

function partsOf(tokens: readonly Token[], headings: readonly Heading[]): PagePart[] {
  const parts: { readonly heading: Heading | undefined; readonly texts: string[] }[] = [
    { heading: undefined, texts: [] },
  ];
  const left = headings.values();
  for (const [index, { type, content, children }] of tokens.entries()) {
    if (type === 'heading_open') parts.push({ heading: left.next().value, texts: [] });
    if (type === 'fence' || type === 'code_block') parts.at(-1)?.texts.push(content);
    if (type !== 'inline' || tokens[index - 1]?.type === 'heading_open') continue;
    parts.at(-1)?.texts.push((children ?? []).map(wordsOf).join(''));
  }
  return parts
    .map(({ heading, texts }) => ({
      heading,
      text: texts.join(' ').replaceAll(/\s+/g, ' ').trim(),
    }))
    .filter(({ heading, text }) => heading !== undefined || text !== '');
}

/** What a reader sees of a part of a line; of a picture, what is said instead of it. */
function wordsOf({ type, content }: Token): string {
  switch (type) {
    case 'text':
    case 'code_inline':
    case 'image':
      return content;
    case 'softbreak':
    case 'hardbreak':
      return ' ';
    default:
      return '';
  }
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
