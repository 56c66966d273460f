import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const folder = fileURLToPath(new URL('../../node_modules/.cache/compiled', import.meta.url));

/** Loads modules and ends: only a process that ends by itself writes to the cache, and tests kill those they start. */
const load = 'await Promise.all(process.argv.slice(1).map(async (url) => await import(url)));';

/**
 * Lets all programs that this process starts from now on keep the compiled code of their modules in a folder, unless
 * NODE_COMPILE_CACHE names another. A syncer starts with 0.2 s less of CPU time so.
 */
export function useCompileCache(): void {
  process.env['NODE_COMPILE_CACHE'] ??= folder;
}

/**
 * The same, and puts the compiled code of the given modules there. What cannot be loaded is left to the tests to complain
 * of.
 */
export async function fillCompileCache(modules: readonly URL[]): Promise<void> {
  useCompileCache();
  const args = ['--input-type=module', '--eval', load, '--', ...modules.map(({ href }) => href)];
  await promisify(execFile)(process.execPath, args).catch(() => undefined);
}
