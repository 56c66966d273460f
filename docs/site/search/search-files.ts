import { readFile } from 'node:fs/promises';
import { stripTypeScriptTypes } from 'node:module';
import type { Passage } from './passages.ts';

/**
 * The scripts of the search by their names. They are not modules: a browser loads none from a page that was opened as a file.
 * The first is part of each page, and adds the others when somebody searches.
 */
export async function searchFiles(passages: readonly Passage[]): Promise<Map<string, string>> {
  const box = await readFile(new URL('../browser/search-box.ts', import.meta.url), 'utf8');
  const library = new URL('../umd/index.js', import.meta.resolve('minisearch'));
  return new Map([
    ['search-box.js', `'use strict';\n(() => {\n${stripTypeScriptTypes(box)}\n})();\n`],
    ['minisearch.js', (await readFile(library, 'utf8')).replace(/\n\/\/# sourceMappingURL=.*/, '')],
    ['passages.js', `globalThis.passages = ${JSON.stringify(passages)};\n`],
  ]);
}
