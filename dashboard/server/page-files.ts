import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { stripTypeScriptTypes } from 'node:module';

/** A file of the page. */
export interface PageFile {
  readonly type: string;
  readonly text: string;
  readonly etag: string;
}

/** The page: its files by path, and what its content security policy must allow. */
export interface PageFiles {
  readonly files: ReadonlyMap<string, PageFile>;
  /** The inline scripts, as a source of `script-src`. */
  readonly scriptHash: string;
}

/** The root of the checkout, or of the build. */
const root = new URL('../../', import.meta.url);
/** Modules run as written, or as compiled: the page gets the same. */
const extension = import.meta.url.endsWith('.ts') ? '.ts' : '.js';
const folders = ['dashboard/page/', 'dashboard/view/'];
const otherModules = ['service/harmless', 'service/quantities'];
/** The library of the page, under the names by which modules import it. */
const libraries = { preact: 'preact.js', 'preact/hooks': 'preact-hooks.js' } as const;
const types: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.ts': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** Reads everything that a browser may request: nothing else is served, whatever the path. */
export async function readPageFiles(): Promise<PageFiles> {
  const files = new Map<string, PageFile>();
  const modules: string[] = [];
  for (const folder of folders) {
    for (const name of await readdir(new URL(folder, root))) {
      const ending = /\.[^.]+$/.exec(name)?.[0] ?? '';
      const isModule = ending === extension;
      if (name.includes('.test.') || !(isModule || ['.css', '.svg'].includes(ending))) continue;
      if (isModule) modules.push(`assets/${folder}${name}`);
      files.set(`/assets/${folder}${name}`, await readOwnFile(`${folder}${name}`, ending));
    }
  }
  for (const name of otherModules.map((each) => `${each}${extension}`)) {
    modules.push(`assets/${name}`);
    files.set(`/assets/${name}`, await readOwnFile(name, extension));
  }
  const imports: Record<string, string> = {};
  for (const [name, file] of Object.entries(libraries)) {
    const text = await readFile(new URL(import.meta.resolve(name)), 'utf8');
    imports[name] = `./assets/library/${file}`;
    modules.push(`assets/library/${file}`);
    files.set(`/assets/library/${file}`, fileOf(withoutSourceMap(text), '.js'));
  }
  const importMap = JSON.stringify({ imports });
  files.set('/', { ...fileOf(pageText(importMap, modules)), type: 'text/html; charset=utf-8' });
  return { files, scriptHash: `'sha256-${sha256(importMap)}'` };
}

async function readOwnFile(path: string, ending: string): Promise<PageFile> {
  const text = await readFile(new URL(path, root), 'utf8');
  return fileOf(ending === '.ts' ? stripTypeScriptTypes(text) : withoutSourceMap(text), ending);
}

function fileOf(text: string, ending = ''): PageFile {
  return { type: types[ending] ?? 'text/plain', text, etag: `"${sha256(text)}"` };
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('base64');
}

/** Source maps are not served. */
function withoutSourceMap(text: string): string {
  return text.replace(/\n\/\/# sourceMappingURL=\S*\s*$/, '\n');
}

/** All addresses are relative: a proxy may serve the page under any path. */
function pageText(importMap: string, modules: readonly string[]): string {
  const preloads = modules.map((path) => `<link rel="modulepreload" href="${path}">`);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>clustersync</title>
<link rel="icon" href="assets/dashboard/page/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="assets/dashboard/page/page.css">
<script type="importmap">${importMap}</script>
${preloads.join('\n')}
<script type="module" src="assets/dashboard/page/main${extension}"></script>
</head>
<body><div id="page"><noscript>This page needs JavaScript.</noscript></div></body>
</html>
`;
}
