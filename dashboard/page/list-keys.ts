import { useEffect } from 'preact/hooks';

/** The address of the last opened sync: it gets the focus back. */
let opened: string | undefined;

/** Notes which one is opened. */
export function noteOpened(address: string): void {
  opened = address;
}

/**
 * The keys of the list: `/` searches, the arrows and `j` and `k` move from sync to sync, Enter opens one like any link.
 * @param isReady - whether the list is there.
 */
export function useListKeys(isReady: boolean): void {
  useEffect(() => {
    addEventListener('keydown', onKey);
    return () => {
      removeEventListener('keydown', onKey);
    };
  }, []);
  useEffect(() => {
    if (!isReady || opened === undefined) return;
    linksOfList()
      .find((link) => link.getAttribute('href') === opened)
      ?.focus();
  }, [isReady]);
}

function onKey(event: KeyboardEvent): void {
  if (event.altKey || event.ctrlKey || event.metaKey) return;
  const at = document.activeElement;
  const search = document.getElementById('search');
  const isSearching = at === search;
  if (event.key === '/' && !isSearching) {
    event.preventDefault();
    search?.focus();
    return;
  }
  if (at instanceof HTMLSelectElement) return;
  const step = stepOf(event.key, isSearching);
  if (step === 0) return;
  const links = linksOfList();
  const index = links.findIndex((link) => link === at);
  const next = links[index === -1 ? 0 : index + step];
  if (next) {
    event.preventDefault();
    next.focus();
  } else if (step === -1 && index === 0) {
    search?.focus();
  }
}

function stepOf(key: string, isSearching: boolean): -1 | 0 | 1 {
  if (key === 'ArrowDown' || (key === 'j' && !isSearching)) return 1;
  if ((key === 'ArrowUp' || key === 'k') && !isSearching) return -1;
  return 0;
}

function linksOfList(): HTMLElement[] {
  return [...document.querySelectorAll<HTMLElement>('#list a')];
}
