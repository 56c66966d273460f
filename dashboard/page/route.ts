import { useEffect, useState } from 'preact/hooks';

/** What is shown: the part of the address after `#`. */
export type Route =
  | { readonly kind: 'all' }
  | { readonly kind: 'sync'; readonly namespace: string; readonly name: string };

/** The address of the page of one sync. */
export function syncAddress(namespace: string, name: string): string {
  return `#/syncs/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;
}

export const listAddress = '#/';

/** The route of the address as it is now. */
export function useRoute(): Route {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const note = (): void => {
      setHash(location.hash);
    };
    addEventListener('hashchange', note);
    return () => {
      removeEventListener('hashchange', note);
    };
  }, []);
  return routeOf(hash);
}

function routeOf(hash: string): Route {
  const [, namespace, name] = /^#\/syncs\/([^/]+)\/([^/]+)$/.exec(hash) ?? [];
  if (namespace === undefined || name === undefined) return { kind: 'all' };
  try {
    return {
      kind: 'sync',
      namespace: decodeURIComponent(namespace),
      name: decodeURIComponent(name),
    };
  } catch {
    return { kind: 'all' };
  }
}
