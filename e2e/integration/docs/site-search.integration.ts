import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { buildSite } from '../../../docs/site/build.ts';
import { TestBrowser, type Viewing, type WatchedPage } from '../../ground/browser/browser.ts';

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.css': 'text/css',
  '.js': 'text/javascript',
  '.svg': 'image/svg+xml',
};
const phone = { width: 390, height: 844 } as const;
/** The site is not at the root of its host, as with GitHub Pages. */
const subPath = '/some/place/';

describe('the search of the documentation, in Chromium', () => {
  let browser: TestBrowser;
  let server: Server;
  let folder = '';
  let root = '';

  before(async () => {
    browser = await TestBrowser.start();
    folder = await mkdtemp(join(tmpdir(), 'clustersync-site-'));
    await buildSite(folder);
    server = createServer((request, response) => {
      const { pathname } = new URL(request.url ?? '', 'http://site');
      const path = pathname.startsWith(subPath) ? pathname.slice(subPath.length) : 'nowhere';
      readFile(join(folder, path)).then(
        (bytes) => response.setHeader('Content-Type', types[extname(path)] ?? '').end(bytes),
        () => response.writeHead(404).end(),
      );
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    root = `http://127.0.0.1:${(server.address() as AddressInfo).port}${subPath}`;
  });

  after(async () => {
    server.close();
    await browser[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  });

  async function open(url: string, viewing: Viewing = {}): Promise<WatchedPage> {
    const watched = await browser.open(viewing);
    await watched.page.goto(url);
    return watched;
  }

  it('finds a passage by keyboard, from any page, below any path, with a word misspelt', async () => {
    await using watched = await open(`${root}docs/runbooks/lag-high.html`);
    const { page, requests, complaints } = watched;
    const box = page.getByRole('searchbox', { name: 'Search the documentation' });
    assert.ok(requests.every(({ pathname }) => !pathname.endsWith('passages.js')));
    await page.keyboard.press('/');
    await page.keyboard.type('oplog roled over');
    const results = page.locator('.results');
    await results.getByRole('link').first().waitFor();
    assert.match(await page.getByRole('status').innerText(), /^\d+ places$/);
    assert.match(await results.locator('mark').first().innerText(), /oplog|rolled|over/i);
    await page.keyboard.press('Escape');
    await results.waitFor({ state: 'hidden' });
    assert.equal(await box.inputValue(), 'oplog roled over');
    await page.keyboard.press('End');
    await page.keyboard.type(' ');
    await results.waitFor();
    await page.keyboard.press('ArrowDown');
    await page.locator('.results li:nth-child(1) a:focus').waitFor();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('Enter');
    await page.waitForURL(`${root}docs/runbooks/oplog-rolled-over.html`);

    // A place of another page, and one of the same page.
    await page.keyboard.press('/');
    await page.keyboard.type('report of a verification');
    await results.getByRole('link').first().waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL(`${root}docs/guide.html#the-report-of-a-verification`);
    await page.keyboard.press('/');
    await page.keyboard.type('committing automatically');
    await results.getByRole('link').first().waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL(`${root}docs/guide.html#committing-automatically`);
    await results.waitFor({ state: 'hidden' });

    await page.keyboard.press('/');
    await page.keyboard.type('xylophone');
    await page.getByText('Nothing is found.').waitFor();
    assert.deepEqual(complaints, []);
    assert.ok(requests.every(({ href }) => href.startsWith(root)));
  });

  it('works where a page is opened as a file; without scripts there is nothing of it', async () => {
    const url = pathToFileURL(join(folder, 'docs', 'README.html')).href;
    await using watched = await open(url);
    const { page, complaints } = watched;
    await page.getByRole('searchbox').fill('CertificateNotTrusted');
    await page.locator('.results a').first().click();
    await page.waitForURL(/\/docs\/(reference\/(errors|conditions)|tls)\.html/);
    assert.deepEqual(complaints, []);
    await using plain = await open(url, { hasScripts: false });
    assert.equal(await plain.page.locator('.search, .results, input').count(), 0);
    await plain.keepPicture('no-scripts', { of: 'documentation' });
  });

  for (const colorScheme of ['light', 'dark'] as const) {
    it(`can be used by everybody: ${colorScheme}`, async () => {
      for (const [name, viewing] of Object.entries({ search: {}, phone })) {
        await using watched = await open(`${root}docs/limits.html`, { ...viewing, colorScheme });
        const { page } = watched;
        await page.getByRole('searchbox').fill('write blocking');
        await page.locator('.results a').first().waitFor();
        assert.equal(await watched.overflow(), 0, name);
        await watched.keepPicture(`${name}-${colorScheme}`, { of: 'documentation' });
        assert.deepEqual(await watched.inaccessible(), [], name);
      }
    });
  }
});
