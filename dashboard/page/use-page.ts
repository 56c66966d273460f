import { useCallback, useRef, useState } from 'preact/hooks';
import type { PageInfo } from '../api/messages.ts';

/** Under which a browser tab remembers for which version it was loaded again. */
const reloadedKey = 'clustersync-reloaded-for';

/**
 * What the server reports about its version and documentation, and a way to take it. When another version answers than at first, the
 * page is loaded again: what is open may misread its figures. Once for each version, since two may answer in turn during an update.
 */
export function usePage(): readonly [PageInfo | undefined, (page: PageInfo) => void] {
  const [page, setPage] = useState<PageInfo>();
  const first = useRef<string | undefined>(undefined);
  const take = useCallback((next: PageInfo): void => {
    first.current ??= next.version;
    if (next.version !== first.current && sessionStorage.getItem(reloadedKey) !== next.version) {
      sessionStorage.setItem(reloadedKey, next.version);
      location.reload();
    } else setPage(next);
  }, []);
  return [page, take];
}
