import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { givenPath, serverPair, type Side } from '../mongod/server-pair.ts';

/**
 * Path of the mongos that the tests use on a side: what $MONGOS_BINARY has for the side's server in `SERVERS`; without `SERVERS`,
 * its one path, or mongos on PATH. Undefined where there is none.
 */
export async function mongosBinary(side: Side): Promise<string | undefined> {
  const server = serverPair(process.env['SERVERS'])?.[side];
  const given = givenPath(process.env['MONGOS_BINARY'], server);
  if (given !== undefined) {
    await access(given, constants.X_OK);
    return given;
  }
  if (server !== undefined) return undefined;
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
