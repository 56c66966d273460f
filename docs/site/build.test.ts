import assert from 'node:assert/strict';
import { access, glob, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, normalize } from 'node:path/posix';
import { buildSite } from './build.ts';
import type { Passage } from './search/passages.ts';

/** What a browser fetches or follows, by the names of attributes. */
const references = /<(\w+)[^>]*?\s(href|src|srcset|action)="([^"]*)"/g;

describe('the site of the documentation', function () {
  this.timeout(60_000);
  let folder = '';
  const pages = new Map<string, string>();

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'clustersync-site-'));
    await buildSite(folder);
    for await (const path of glob('**/*.html', { cwd: folder })) {
      pages.set(path, await readFile(join(folder, path), 'utf8'));
    }
  });

  after(async () => {
    await rm(folder, { recursive: true });
  });

  it('has links to files and anchors of its own, and to other hosts only where a reader clicks', async () => {
    const wrong: string[] = [];
    for (const [path, html] of pages) {
      for (const [, tag, attribute, reference = ''] of html.matchAll(references)) {
        if (reference === 'data:,') continue;
        if (/^[a-z]+:/.test(reference)) {
          if (tag !== 'a') wrong.push(`${path}: ${tag} ${attribute} ${reference}`);
          continue;
        }
        const [place = '', anchor] = decodeURI(reference).split('#', 2);
        const target = place === '' ? path : normalize(join(dirname(path), place));
        const there = await access(join(folder, target)).then(
          () => true,
          () => false,
        );
        const hasAnchor = anchor === undefined || pages.get(target)?.includes(`id="${anchor}"`);
        if (!there || hasAnchor !== true) wrong.push(`${path}: ${reference}`);
      }
    }
    assert.deepEqual(wrong, []);
  });

  it('runs one script, a file of its own, and its style sheet asks for nothing', async () => {
    for (const [path, html] of pages) {
      assert.doesNotMatch(html, /<iframe|@import|javascript:| on[a-z]+=/, path);
      const scripts = html.match(/<script[^]*?<\/script>/g) ?? [];
      const script = /^<script src="[./]*search\/search-box\.js" defer><\/script>$/;
      assert.match(scripts.join(), script, path);
    }
    assert.doesNotMatch(await readFile(join(folder, 'style.css'), 'utf8'), /url\(|@import/);
  });

  it('has each passage of its pages in what the search reads, at a place that there is', async () => {
    const script = await readFile(join(folder, 'search/passages.js'), 'utf8');
    const passages = JSON.parse(
      /^globalThis\.passages = (.*);\n$/.exec(script)?.[1] ?? '',
    ) as readonly Passage[];
    for (const { path, anchor, title } of passages) {
      const html = pages.get(path) ?? '';
      assert.ok(html.includes(`${title.replaceAll('&', '&amp;')} · clustersync</title>`), path);
      assert.ok(anchor === '' || html.includes(`id="${anchor}"`), `${path}#${anchor}`);
    }
    assert.deepEqual(new Set(passages.map(({ path }) => path)), new Set(pages.keys()));
    const found = passages.find(({ anchor }) => anchor === 'write-blocking');
    assert.deepEqual(found?.headings, ['Before', 'Write blocking']);
    assert.ok(found.isListed);
    assert.match(found.text, /^With enableUserWriteBlocking: true applications cannot write to/);
  });

  it('shows in the navigation where one is, by the titles of the pages', () => {
    const guide = pages.get('docs/guide.html') ?? '';
    const [current = '', , title] =
      /<a href="([^"]*)" aria-current="page">([^<]*)</.exec(guide) ?? [];
    assert.match(current, /guide\.html/);
    assert.ok(guide.includes(`${title}</h1>`));
    assert.equal(guide.match(/aria-current/g)?.length, 1);
  });

  it('has one heading of the first level on each page, and a title', () => {
    for (const [path, html] of pages) {
      assert.equal(html.match(/<h1[ >]/g)?.length, 1, path);
      assert.match(html, /<title>[^<]+ · clustersync<\/title>/, path);
    }
  });
});
