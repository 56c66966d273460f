import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { delimiter, join } from 'node:path';

/** Path of the mongos that the tests use: $MONGOS_BINARY, or mongos on PATH. Undefined where there is none. */
export async function mongosBinary(): Promise<string | undefined> {
  const given = process.env['MONGOS_BINARY'];
  if (given) {
    await access(given, constants.X_OK);
    return given;
  }
  for (const folder of (process.env['PATH'] ?? '').split(delimiter)) {
    const path = join(folder, 'mongos');
    try {
      await access(path, constants.X_OK);
      return path;
    } catch {
      continue;
    }
  }
  return undefined;
}
