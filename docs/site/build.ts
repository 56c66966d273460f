import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path/posix';
import { targetOf } from './links.ts';
import { readPage, type Page } from './markdown.ts';
import { navigationOf } from './navigation.ts';
import { passagesOf } from './search/passages.ts';
import { searchFiles } from './search/search-files.ts';
import { checkout, markdownFiles } from './sources.ts';
import { documentOf, scriptPath, stylePath } from './template.ts';

const contentsPath = 'docs/README.md';

/** Where the page of the site is that is made of a Markdown file; README.md of the root is what is shown first. */
function sitePath(path: string): string {
  return path === 'README.md' ? 'index.html' : path.replace(/\.md$/, '.html');
}

/**
 * Builds the site: a page for each Markdown file of the project, at the same place, the other files that they link, and what
 * the search needs.
 * @param folder - is made where it is missing; what is in it already stays.
 */
export async function buildSite(folder: string): Promise<void> {
  const pages = new Map<string, Page>();
  for (const path of await markdownFiles()) pages.set(path, readPage(await readText(path)));
  const titleOf = (path: string): string => pages.get(path)?.headings[0]?.text ?? path;
  const sections = navigationOf(contentsPath, await readText(contentsPath), titleOf).map(
    ({ title, entries }) => ({
      title,
      entries: entries.map((entry) => ({ ...entry, path: sitePath(entry.path) })),
    }),
  );
  const linkedFiles = new Set<string>();
  const write = async (path: string, text: string): Promise<void> => {
    const file = join(folder, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text);
  };
  for (const [path, page] of pages) {
    const html = page.render((link) => {
      const target = targetOf(path, link);
      if (!target) return link;
      if (!pages.has(target.path)) linkedFiles.add(target.path);
      const place = relative(dirname(sitePath(path)), sitePath(target.path));
      return target.anchor === undefined ? place : `${place}#${target.anchor}`;
    });
    const sitePage = { path: sitePath(path), title: titleOf(path), html, headings: page.headings };
    await write(sitePage.path, documentOf(sitePage, sections, sitePath(contentsPath)));
  }
  for (const path of linkedFiles) {
    await mkdir(join(folder, dirname(path)), { recursive: true });
    await copyFile(new URL(path, checkout), join(folder, path));
  }
  await write(stylePath, await readText('docs/site/style.css'));
  const listed = new Set(sections.flatMap(({ entries }) => entries.map((entry) => entry.path)));
  const passages = [...pages].flatMap(([path, page]) => {
    const place = sitePath(path);
    return passagesOf({ path: place, title: titleOf(path), isListed: listed.has(place) }, page);
  });
  for (const [name, text] of await searchFiles(passages)) {
    await write(join(dirname(scriptPath), name), text);
  }
}

async function readText(path: string): Promise<string> {
  return await readFile(new URL(path, checkout), 'utf8');
}
