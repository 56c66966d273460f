import { dirname, join, normalize } from 'node:path/posix';
import { readPage } from './markdown.ts';

/** A page in the navigation. */
export interface Entry {
  readonly path: string;
  readonly title: string;
}

/** Pages under a heading of the contents. */
export interface Section {
  readonly title: string;
  readonly entries: readonly Entry[];
}

/**
 * The navigation, from the page of contents: its headings of the second level, and the Markdown files that are linked below each.
 * @param titleOf - what a page is called.
 */
export function navigationOf(
  contentsPath: string,
  contents: string,
  titleOf: (path: string) => string,
): Section[] {
  const parts = contents.split(/^## /m).slice(1);
  return parts.map((part) => {
    const [title = '', ...lines] = part.split('\n');
    const paths = readPage(lines.join('\n'))
      .links.filter((link) => link.endsWith('.md'))
      .map((link) => normalize(join(dirname(contentsPath), link)));
    return { title, entries: [...new Set(paths)].map((path) => ({ path, title: titleOf(path) })) };
  });
}
