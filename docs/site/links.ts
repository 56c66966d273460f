import { readFile, stat } from 'node:fs/promises';
import { dirname, join, normalize } from 'node:path/posix';
import type { Page } from './markdown.ts';
import { readPage } from './markdown.ts';

/** A target of a link within the checkout. */
export interface Target {
  /** From the root of the checkout. */
  readonly path: string;
  /** Undefined where the link leads to the file as a whole. */
  readonly anchor: string | undefined;
}

/** What a link leads to; undefined for an address of another host. */
export function targetOf(page: string, link: string): Target | undefined {
  if (/^[a-z][a-z+.-]*:/i.test(link)) return undefined;
  const [path = '', anchor] = link.split('#', 2);
  return { path: path === '' ? page : normalize(join(dirname(page), path)), anchor };
}

/**
 * The links of Markdown files that lead nowhere, each with its reason. Files and anchors are looked up; an address of another host
 * has only to be one, by https.
 * @param pages - paths from the root of the checkout.
 */
export async function brokenLinks(root: URL, pages: readonly string[]): Promise<string[]> {
  const known = new Map<string, Promise<Page>>();
  const read = async (path: string): Promise<Page> => {
    const page = known.get(path) ?? readFile(new URL(path, root), 'utf8').then(readPage);
    known.set(path, page);
    return await page;
  };
  const broken: string[] = [];
  for (const path of pages) {
    for (const link of (await read(path)).links) {
      const target = targetOf(path, link);
      const problem = target
        ? await problemWithin(root, target, read)
        : problemOfAddress(link, path);
      if (problem !== undefined) broken.push(`${path}: ${link} ${problem}`);
    }
  }
  return broken;
}

async function problemWithin(
  root: URL,
  { path, anchor }: Target,
  read: (path: string) => Promise<Page>,
): Promise<string | undefined> {
  if (path.startsWith('../')) return 'leads out of the checkout';
  if (!(await isFile(new URL(path, root)))) return 'leads to no file';
  if (anchor === undefined) return undefined;
  if (!path.endsWith('.md')) return 'has an anchor, and leads to no Markdown';
  const { headings } = await read(path);
  return headings.some((heading) => heading.anchor === anchor) ? undefined : 'leads to no heading';
}

function problemOfAddress(link: string, page: string): string | undefined {
  const url = URL.parse(link);
  if (url?.protocol !== 'https:') return `is not an https address (${page})`;
  return url.hostname.includes('.') ? undefined : 'has no name of a host';
}

/** A folder is none: a site has nothing to show for it. */
async function isFile(url: URL): Promise<boolean> {
  return await stat(url).then(
    (found) => found.isFile(),
    () => false,
  );
}
