import ts from 'typescript';
import { commentMark } from './comment-mark.ts';
import { plainWords } from './plain-words.ts';

/** Stands for what is not prose, in texts of the same length as their file: no phrase goes across it. */
const blank = '\0';

const codeBlock = /^ *(`{3,})[^]*?^ *\1$/gm;
const linkTarget = /\]\([^)\s]*\)/g;

const anyPhrase = new RegExp(plainWords.map(({ pattern }) => pattern.source).join('|'), 'i');

/**
 * The places of a file that plain-words.ts has better words for: `path:line: "found": write "better"`. Of TypeScript, comments and
 * texts of four words or more; of Markdown, everything but code; of YAML and others, everything.
 */
export function wordyPlaces(path: string, source: string): readonly string[] {
  const text = proseOf(path, source);
  if (!anyPhrase.test(text)) return [];
  return plainWords
    .flatMap(({ write, pattern }) => [...text.matchAll(pattern)].map((match) => ({ match, write })))
    .sort((a, b) => a.match.index - b.match.index)
    .map(({ match, write }) => {
      const line = source.slice(0, match.index).split('\n').length;
      return `${path}:${line}: "${match[0].replaceAll(/\s+/g, ' ')}": write "${write}"`;
    });
}

/** The prose of a file, each character where it is in the file. */
function proseOf(path: string, source: string): string {
  if (path.endsWith('.ts')) return typescriptProse(path, source);
  if (path.endsWith('.md')) return markdownProse(source);
  // The comments of YAML.
  return source.replaceAll(/^( *)#(?= )/gm, '$1 ');
}

function markdownProse(source: string): string {
  return source
    .replaceAll(codeBlock, blanked)
    .replaceAll(/`: _[^_\n]+_/g, blanked) // titles of tests
    .replaceAll(/`[^`\n]+`/g, blanked)
    .replaceAll(linkTarget, blanked);
}

/** A piece of prose, from its first character to the one after its last. */
type Piece = readonly [from: number, to: number];

function typescriptProse(path: string, source: string): string {
  let prose = '';
  const texts = textsIn(path, source);
  let next = 0;
  let start = 0;
  for (const line of source.split('\n')) {
    // What wraps a comment is white space.
    const mark = commentMark.exec(line);
    const comment = mark ? start + mark.index : start + line.length;
    for (let text = texts[next]; text && text[0] < comment; text = texts[++next]) {
      prose += blanked(source.slice(prose.length, text[0])) + source.slice(...text);
    }
    if (comment >= prose.length) {
      const text = mark ? ' '.repeat(mark[0].length) + line.slice(mark.index + mark[0].length) : '';
      prose += `${blanked(source.slice(prose.length, comment))}${text}\n`;
    }
    start += line.length + 1;
  }
  return prose;
}

/** The texts of four words or more, without the code between `${` and `}`, in order. */
function textsIn(path: string, source: string): readonly Piece[] {
  const file = ts.createSourceFile(path, source, ts.ScriptTarget.Latest);
  const pieces: Piece[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node) || ts.isTypeNode(node)) return;
    if (ts.isTemplateExpression(node) || ts.isStringLiteralLike(node)) {
      const parts = ts.isTemplateExpression(node)
        ? [node.head, ...node.templateSpans.map(({ literal }) => literal)]
        : [node];
      if (wordCount(parts.map(({ text }) => text).join(' ')) >= 4) {
        pieces.push(...parts.map((part): Piece => [part.getStart(file), part.end]));
      }
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return pieces.sort(([a], [b]) => a - b);
}

function wordCount(text: string): number {
  return text.match(/(?<![\w$-])[a-z][a-z'-]*(?![\w$])/gi)?.length ?? 0;
}

function blanked(text: string): string {
  return text.replaceAll(/[^\n]/g, blank);
}

/** The sentences of a page that have more words than this, each as `words: its beginning`. Names in backticks count as a word. */
export function longSentences(source: string, mostWords: number): readonly string[] {
  return paragraphsOf(source)
    .flatMap((paragraph) => paragraph.split(/(?<=[.!?]["')*]*)\s+(?=["'([*`A-Z_])/))
    .flatMap((sentence) => {
      const count = sentence.split(/\s+/).filter((word) => /\w/.test(word)).length;
      return count > mostWords ? [`${count}: ${sentence.trim().slice(0, 60)}`] : [];
    });
}

/** Paragraphs, items of lists and cells of tables, each on one line, without code and addresses of links. */
function paragraphsOf(source: string): readonly string[] {
  return source
    .replaceAll(codeBlock, '\n\n')
    .replaceAll(/<!--[^]*?-->/g, '\n\n')
    .replaceAll(/^#.*$|^ {4}\S.*$/gm, '\n\n')
    .replaceAll(/^ *\|.*$/gm, (row) => row.replaceAll('|', '\n\n'))
    .replaceAll(/^ *(?:[-*]|\d+\.) /gm, '\n\n')
    .replaceAll(/`[^`]+`/g, 'X')
    .replaceAll(linkTarget, ']')
    .split(/\n\s*\n/)
    .map((paragraph) => paragraph.replaceAll(/\s+/g, ' '));
}
