import { relative, dirname } from 'node:path/posix';
import type { Heading } from './markdown.ts';
import type { Section } from './navigation.ts';

/** What a page of the site is made of. */
export interface SitePage {
  /** From the root of the site. */
  readonly path: string;
  readonly title: string;
  readonly html: string;
  readonly headings: readonly Heading[];
}

/** The style sheet of all pages, from the root of the site. */
export const stylePath = 'style.css';

/** The script of all pages, from the root of the site: what else it needs is beside it. */
export const scriptPath = 'search/search-box.js';

/** A page as a document: it requests only the style sheet, the search, and the pictures that it shows. */
export function documentOf(page: SitePage, sections: readonly Section[], contents: string): string {
  const to = (path: string): string => relative(dirname(page.path), path);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escaped(page.title)} · clustersync</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${to(stylePath)}">
<script src="${to(scriptPath)}" defer></script>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header><a href="${to(contents)}">clustersync</a> <a class="pages" href="#pages">All pages</a></header>
<div class="columns">
<nav id="pages" aria-label="Documentation">
${sections.map((section) => sectionOf(section, page, to)).join('\n')}
</nav>
<main id="content">
${page.html}
</main>
${onThisPage(page.headings)}
</div>
</body>
</html>
`;
}

function sectionOf(section: Section, page: SitePage, to: (path: string) => string): string {
  const items = section.entries.map(({ path, title }) => {
    const current = path === page.path ? ' aria-current="page"' : '';
    return `<li><a href="${to(path)}"${current}>${escaped(title)}</a></li>`;
  });
  return `<h2>${escaped(section.title)}</h2>\n<ul>${items.join('')}</ul>`;
}

function onThisPage(headings: readonly Heading[]): string {
  const shown = headings.filter(({ level }) => level === 2 || level === 3);
  if (shown.length < 2) return '';
  const items = shown.map(({ level, anchor, text }) => {
    return `<li class="level${level}"><a href="#${anchor}">${escaped(text)}</a></li>`;
  });
  return `<aside aria-label="On this page"><h2>On this page</h2><ul>${items.join('')}</ul></aside>`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
