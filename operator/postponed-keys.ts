import { parseKey } from './kube/resource.ts';
import type { WorkNamespaces } from './work-namespaces.ts';

/** Whose keys are postponed. */
export interface PostponedKeysOptions {
  readonly namespaces: WorkNamespaces;
  /** The keys of the objects in the cache. */
  readonly cached: () => readonly string[];
  /** Queues a key. */
  readonly add: (key: string) => void;
}

/**
 * Keys of objects in namespaces where the operator may not work now: it cannot read them, and nothing may be decided by what the caches
 * have of these, or it does not own them. They are queued when it may work there; when it no longer may, the keys of
 * the objects there are queued to end the work for them.
 */
export class PostponedKeys {
  readonly #namespaces: WorkNamespaces;
  readonly #keys = new Set<string>();

  constructor({ namespaces, cached, add }: PostponedKeysOptions) {
    this.#namespaces = namespaces;
    namespaces.onChange((changed) => {
      const isChanged = (key: string): boolean => [undefined, namespaceOf(key)].includes(changed);
      for (const key of [...this.#keys].filter(isChanged)) {
        if (!this.#mayWork(key)) continue;
        this.#keys.delete(key);
        add(key);
      }
      for (const key of cached().filter(isChanged)) {
        if (!this.#mayWork(key) && !this.#keys.has(key)) add(key);
      }
    });
  }

  /** Whether a key that is due must wait. */
  postpone(key: string): boolean {
    if (this.#mayWork(key)) return false;
    if (this.#namespaces.mayLater(namespaceOf(key))) this.#keys.add(key);
    return true;
  }

  #mayWork(key: string): boolean {
    return this.#namespaces.mayWork(namespaceOf(key));
  }
}

function namespaceOf(key: string): string {
  return parseKey(key).namespace ?? '';
}
