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

/** The route of the current address. */
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

/**
 * What Kubernetes accepts as a name. Somebody else may have made the address: it must not put their words on the page, and `..` would
 * make the page request something else.
 */
const kubernetesName = /^[a-z0-9][-a-z0-9.]{0,252}$/;

function routeOf(hash: string): Route {
  const [, namespace = '', name = ''] = /^#\/syncs\/([^/]+)\/([^/]+)$/.exec(hash) ?? [];
  const isOfSync = kubernetesName.test(namespace) && kubernetesName.test(name);
  return isOfSync ? { kind: 'sync', namespace, name } : { kind: 'all' };
}
