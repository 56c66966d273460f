import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { brokenLinks } from './links.ts';
import { checkout, markdownFiles } from './sources.ts';

describe('the links of the documentation', () => {
  it('lead to files and headings that are there', async () => {
    assert.deepEqual(await brokenLinks(checkout, await markdownFiles()), []);
  }).timeout(60_000);
});

describe('brokenLinks', () => {
  let folder = '';

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'clustersync-links-'));
    await writeFile(join(folder, 'other.md'), '# One `more`: it\n\n## Again\n\n## Again\n');
    await writeFile(join(folder, 'file.yaml'), 'a: 1\n');
  });

  afterEach(async () => {
    await rm(folder, { recursive: true });
  });

  async function brokenIn(text: string): Promise<string[]> {
    await writeFile(join(folder, 'page.md'), text);
    return await brokenLinks(pathToFileURL(`${folder}/`), ['page.md']);
  }

  it('finds files and headings where GitHub does', async () => {
    const links = ['other.md', 'other.md#one-more-it', 'other.md#again-1', 'file.yaml', '#here'];
    const text = links.map((link) => `[a](${link}) ![b](other.md)`).join('\n');
    assert.deepEqual(await brokenIn(`# Here\n\n${text}\n\n[c](https://example.com/x#y)\n`), []);
  });

  for (const [link, problem] of [
    ['gone.md', 'leads to no file'],
    ['other.md#two', 'leads to no heading'],
    ['other.md#again-2', 'leads to no heading'],
    ['#there', 'leads to no heading'],
    ['file.yaml#a', 'has an anchor, and leads to no Markdown'],
    ['../page.md', 'leads out of the checkout'],
    ['http://example.com', 'is not an https address (page.md)'],
    ['https://example', 'has no name of a host'],
  ] as const) {
    it(`tells of ${link}`, async () => {
      assert.deepEqual(await brokenIn(`# Here\n\n[a](${link})\n`), [`page.md: ${link} ${problem}`]);
    });
  }

  it('looks at pictures in HTML, of which there may be one for the dark', async () => {
    const text =
      '<picture>\n  <source media="x" srcset="a.svg">\n  <img alt="A picture" src="file.yaml">\n</picture>\n\nand <img src="b.svg">\n';
    assert.deepEqual(await brokenIn(text), [
      'page.md: a.svg leads to no file',
      'page.md: b.svg leads to no file',
    ]);
  });

  it('looks at pictures, at tables, and at links that are defined elsewhere, and not at code', async () => {
    const text =
      '![a](a.svg)\n\n| b |\n| - |\n| [b](b.md) |\n\n[c][d]\n\n`[e](e.md)`\n\n[d]: d.md\n';
    assert.deepEqual(await brokenIn(text), [
      'page.md: a.svg leads to no file',
      'page.md: b.md leads to no file',
      'page.md: d.md leads to no file',
    ]);
  });
});
