import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const folder = fileURLToPath(new URL('../../node_modules/.cache/compiled', import.meta.url));

/** Loads modules and ends: only a process that ends by itself writes to the cache, and tests kill the processes that they start. */
const load = 'await Promise.all(process.argv.slice(1).map(async (url) => await import(url)));';

/**
 * Makes all programs that this process starts from now on cache the compiled code of their modules in a folder, unless
 * NODE_COMPILE_CACHE names another. This saves a syncer 0.2 s of CPU time at its start.
 */
export function useCompileCache(): void {
  process.env['NODE_COMPILE_CACHE'] ??= folder;
}

/**
 * The same; in addition, caches the compiled code of the given modules. Modules that cannot be loaded are ignored: the tests
 * report them.
 */
export async function fillCompileCache(modules: readonly URL[]): Promise<void> {
  useCompileCache();
  const args = ['--input-type=module', '--eval', load, '--', ...modules.map(({ href }) => href)];
  await promisify(execFile)(process.execPath, args).catch(() => undefined);
}
