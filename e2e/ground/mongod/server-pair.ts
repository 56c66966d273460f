/** The sides of a sync or of a verification, in tests: each has the server that the run's pair gives it. */
export type Side = 'source' | 'destination';

/** The servers of a run: names that `mongod-binary.sh` knows, such as `6.0` or `7.0.28`. */
export type ServerPair = Readonly<Record<Side, string>>;

/**
 * Reads what `SERVERS` holds: `6.0-7.0`, the source's server and the destination's; undefined where it is not set, and each
 * side has the default server.
 * @throws Error if it is no pair.
 */
export function serverPair(text: string | undefined): ServerPair | undefined {
  if (text === undefined || text === '') return undefined;
  const [source, destination, ...others] = text.split('-');
  if (!source || !destination || others.length > 0)
    throw new Error(`SERVERS must be SOURCE-DESTINATION, such as 6.0-7.0, not '${text}'`);
  return { source, destination };
}

/** What tells the side of a deployment of a test. */
export interface SideOptions {
  /** Where neither name nor roles tell it. Default: the source. */
  readonly side?: Side;
  readonly name?: string;
  readonly syncerRoles?: string;
}

/** The side of a deployment: as given; else the destination if it is called so, or if its user may do what a destination needs. */
export function sideOf({ side, name, syncerRoles }: SideOptions): Side {
  if (side !== undefined) return side;
  return name === 'destination' || syncerRoles === 'destination' ? 'destination' : 'source';
}

/**
 * What `MONGOD_BINARY` or `MONGOS_BINARY` holds for a server: one path, which is that of no server in particular, or names with
 * paths: `8.0=/opt/8.0/bin/mongos,7.0=…`. As mongod-binary.sh reads it.
 * @param server - as `SERVERS` names it; undefined where that is not set.
 */
export function givenPath(
  text: string | undefined,
  server: string | undefined,
): string | undefined {
  for (const entry of (text ?? '').split(',')) {
    const [name, path] = entry.includes('=') ? entry.split('=', 2) : [undefined, entry];
    if (path && (name === server || (server !== undefined && name?.startsWith(`${server}.`))))
      return path;
  }
  return undefined;
}
