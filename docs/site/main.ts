// Builds the documentation as a site, in dist/site: `make docs`.
import { rm } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { buildSite } from './build.ts';
import { checkout } from './sources.ts';

const folder = fileURLToPath(new URL('dist/site', checkout));
await rm(folder, { recursive: true, force: true });
await buildSite(folder);
process.stdout.write(`${folder}/index.html\n`);
