import { parseKey } from './kube/resource.ts';
import type { WatchedNamespaces } from './operand/watched-namespaces.ts';

/** Whose keys are postponed. */
export interface PostponedKeysOptions {
  readonly watched: Pick<WatchedNamespaces, 'isKnown' | 'isUnseen' | 'onChange'>;
  /** The keys of the objects in the cache. */
  readonly cached: () => readonly string[];
  /** Queues a key. */
  readonly add: (key: string) => void;
}

/**
 * Keys of objects in namespaces that cannot be read now: nothing may be decided by what the caches have of these. They are queued when
 * their namespace becomes known; and when it becomes unknown, those of its objects are, to have the work for them ended.
 */
export class PostponedKeys {
  readonly #watched: PostponedKeysOptions['watched'];
  readonly #keys = new Set<string>();

  constructor({ watched, cached, add }: PostponedKeysOptions) {
    this.#watched = watched;
    watched.onChange(() => {
      for (const key of [...this.#keys]) {
        if (!this.#isKnown(key)) continue;
        this.#keys.delete(key);
        add(key);
      }
      for (const key of cached()) {
        if (!this.#isKnown(key) && !this.#keys.has(key)) add(key);
      }
    });
  }

  /** Whether a key that is due must wait. */
  postpone(key: string): boolean {
    if (this.#isKnown(key)) return false;
    // A namespace of another operator never becomes known.
    if (this.#watched.isUnseen(parseKey(key).namespace ?? '')) this.#keys.add(key);
    return true;
  }

  #isKnown(key: string): boolean {
    return this.#watched.isKnown(parseKey(key).namespace ?? '');
  }
}
