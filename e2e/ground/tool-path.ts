import { globSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** Where a program is that `make tools` has built: `name` of the folder `<folder>-<hash>` in the cache of tools. */
export function toolPath(folder: string, name: string): string {
  const cache = process.env['CLUSTERSYNC_TOOLS'] ?? join(homedir(), '.cache', 'clustersync-tools');
  const [found] = globSync(join(cache, `${folder}-*`, name));
  if (found === undefined) throw new Error(`no ${folder} in ${cache}: run "make tools" first`);
  return found;
}
