import { readFileSync } from 'node:fs';

/** The version of this package, as in its package.json; `unknown` if there is none. */
export function packageVersion(): string {
  // One folder up in the sources, two in the build.
  for (const path of ['../package.json', '../../package.json']) {
    try {
      const { version } = JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8')) as {
        version: string;
      };
      return version;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  }
  return 'unknown';
}
