import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** What `make tools` builds, each into a folder of the cache of tools. */
export type Tool = 'hyperkube' | 'helm' | 'promql' | 'kstatus' | 'lua';

const folders = new Map<Tool, string>();

/** Where a program of a tool is: of the version that this checkout wants. */
export function toolPath(tool: Tool, program: string): string {
  const folder = folders.get(tool) ?? folderOf(tool);
  folders.set(tool, folder);
  const path = join(folder, program);
  if (!existsSync(path)) throw new Error(`no ${path}: run "make tools" first`);
  return path;
}

function folderOf(tool: Tool): string {
  const script = fileURLToPath(new URL('tool-cache.sh', import.meta.url));
  // Its functions tell the folders; $0 stands in its messages.
  const args = ['-euc', '. "$1"; "$2"', 'tools', script, `${tool}_folder`];
  return execFileSync('bash', args, { encoding: 'utf8' }).trim();
}
