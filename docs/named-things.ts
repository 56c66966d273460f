import { commentMark } from './comment-mark.ts';

/** A piece of text that names things of the code: a Markdown file, or the comments of a file. */
export interface NamingText {
  /** From the root of the checkout. */
  readonly path: string;
  readonly text: string;
}

/** What there is to be named. */
export interface NameableThings {
  /** Words of the code, without its comments. */
  readonly words: ReadonlySet<string>;
  /** Paths of files and folders, from the root of the checkout; those of folders have no slash at the end. */
  readonly paths: readonly string[];
}

/** Words with a capital inside, and those of capitals with an underscore: no word of English looks like that. */
const identifier =
  /^(?:[a-z][a-z0-9]*[A-Z][A-Za-z0-9]*|[A-Z][a-z0-9]+[A-Z][A-Za-z0-9]*|[A-Z][A-Z0-9]*_[A-Z0-9_]*[A-Z0-9])$/;

/** A word, or a call without arguments. */
const loneWord = /^[A-Za-z_]\w+(?:\(\))?$/;

/** A file of this project by a relative path or only its name, or a folder with a slash at its end. */
const path = /^(?:[\w.-]+\/)*[\w.-]*[a-z](?:\.(?:ts|md|sh|py|css|svg|dot|yaml|json)|\/)$/;

/**
 * The names that are nowhere in this project, each behind the path of the file that names it. In backticks, names are words that
 * stand alone, parts that look like identifiers, and paths; in comments, without backticks too, what looks like an identifier or
 * ends in `.ts`.
 */
export function strayNames(
  texts: readonly NamingText[],
  { words, paths }: NameableThings,
): readonly string[] {
  const ends = new Set(paths.flatMap(endsOf));
  const stray = texts.flatMap(({ path: file, text }) =>
    namesIn(text, file.endsWith('.ts'))
      .filter((name) => (path.test(name) ? !ends.has(plain(name)) : !words.has(name)))
      .map((name) => `${file}: ${name}`),
  );
  return [...new Set(stray)];
}

function namesIn(text: string, isOfComments: boolean): readonly string[] {
  const names: string[] = [];
  const rest = withoutBlocks(text).replaceAll(/`([^`\n]+)`/g, (_, code: string) => {
    if (path.test(code)) names.push(code);
    else if (loneWord.test(code)) names.push(code.replace('()', ''));
    else names.push(...code.split(/[^\w$/-]+/).filter((part) => identifier.test(part)));
    return ' ';
  });
  if (!isOfComments) return names;
  const bare = rest.replaceAll(/https?:\S+/g, ' ').split(/[^\w./-]+|\.(?=\s|$)/);
  return [
    ...names,
    ...bare.filter((name) => identifier.test(name) || (path.test(name) && name.endsWith('.ts'))),
  ];
}

/** The titles of tests often are names of functions, and outlive them. */
const title = /(?<=\b(?:describe|it))\(\s*(?:'(?:[^'\\]|\\.)*'|`[^`]*`)/g;

/** The code of a TypeScript file without titles of tests, and its comments: see {@link commentMark}. */
export function codeAndComments(source: string): {
  readonly code: string;
  readonly comments: string;
} {
  const code: string[] = [];
  const comments: string[] = [];
  for (const line of source.split('\n')) {
    const mark = commentMark.exec(line);
    code.push(mark ? line.slice(0, mark.index) : line);
    if (mark) comments.push(line.slice(mark.index));
  }
  return { code: code.join('\n').replaceAll(title, '('), comments: comments.join('\n') };
}

/** Blocks of code show what others run, too: tests of their own look at them. */
function withoutBlocks(text: string): string {
  return text.replaceAll(/^(`{3,})[^]*?^\1$/gm, '');
}

function plain(name: string): string {
  return name.replace(/\/$/, '').replace(/^(?:\.\.?\/)+/, '');
}

/** Of a path: itself, without its first folder, and so on. */
function endsOf(full: string): readonly string[] {
  const parts = full.split('/');
  return parts.map((_, index) => parts.slice(index).join('/'));
}
