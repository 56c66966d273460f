/** What a path of the dashboard's API returns: everything about one sync or all, once or continuously. */
export interface DataRoute {
  /** As in `/a/{b}`; `{b}` matches any text without a slash, percent-encoded. */
  readonly path: string;
  readonly of: 'all' | 'one';
  /** Server-sent events, without end. */
  readonly isStream: boolean;
}

/** All paths with data. Anything else under `/api/` does not exist, and the rest are files of the page. */
export const dataRoutes: readonly DataRoute[] = [
  { path: '/api/v1/syncs', of: 'all', isStream: false },
  { path: '/api/v1/syncs/stream', of: 'all', isStream: true },
  { path: '/api/v1/syncs/{namespace}/{name}', of: 'one', isStream: false },
  { path: '/api/v1/syncs/{namespace}/{name}/stream', of: 'one', isStream: true },
];

/** A route, and the sync named by the path; empty if it names none. */
export interface FoundRoute {
  readonly route: DataRoute;
  /** `namespace/name` */
  readonly key: string;
}

/** The route of a path; undefined if there is none, or if its encoding is invalid. */
export function findRoute(path: string): FoundRoute | undefined {
  const given = path.split('/');
  for (const route of dataRoutes) {
    const wanted = route.path.split('/');
    if (wanted.length !== given.length) continue;
    const isHere = wanted.every((part, index) => isPlace(part) || part === given[index]);
    if (!isHere) continue;
    try {
      const names = given.filter((_, index) => isPlace(wanted[index]));
      return { route, key: names.map((name) => decodeURIComponent(name)).join('/') };
    } catch {
      return undefined;
    }
  }
  return undefined;
}

function isPlace(part = ''): boolean {
  return part.startsWith('{');
}
