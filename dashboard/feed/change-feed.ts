import { isDeepStrictEqual } from 'node:util';

/** An update for a reader: everything, or the changes since its last one. */
export type News<T> =
  | { readonly kind: 'all'; readonly revision: number; readonly items: readonly T[] }
  | {
      readonly kind: 'changes';
      readonly revision: number;
      readonly changed: readonly T[];
      readonly removed: readonly string[];
    };

interface Entry<T> {
  readonly item: T;
  /** Of the last change. */
  readonly revision: number;
}

/** A reader that has missed more removals than this gets everything. */
const maxRemovals = 1_000;

/**
 * Items by key, with a number for each change: a reader that remembers the number of its last update gets what came
 * after it, however long ago that was. So a slow reader costs only its own delay.
 */
export class ChangeFeed<T> {
  readonly #keyOf: (item: T) => string;
  #entries = new Map<string, Entry<T>>();
  /** When keys were removed, oldest first. */
  readonly #removals = new Map<string, number>();
  #revision = 0;
  /** Readers with an older revision get everything. */
  #oldestRevision = 0;

  constructor(keyOf: (item: T) => string) {
    this.#keyOf = keyOf;
  }

  get items(): readonly T[] {
    return [...this.#entries.values()].map(({ item }) => item);
  }

  get(key: string): T | undefined {
    return this.#entries.get(key)?.item;
  }

  /** Replaces the items. @returns whether anything has changed. */
  replace(items: readonly T[]): boolean {
    const next = new Map<string, Entry<T>>();
    const revision = this.#revision + 1;
    let isChanged = false;
    for (const item of items) {
      const key = this.#keyOf(item);
      const former = this.#entries.get(key);
      const isSame = former !== undefined && isDeepStrictEqual(former.item, item);
      next.set(key, isSame ? former : { item, revision });
      if (isSame) continue;
      isChanged = true;
      this.#removals.delete(key);
    }
    for (const key of this.#entries.keys()) {
      if (next.has(key)) continue;
      isChanged = true;
      this.#noteRemoval(key, revision);
    }
    this.#entries = next;
    if (isChanged) this.#revision = revision;
    return isChanged;
  }

  /**
   * The changes since a revision; undefined if there are none.
   * @param since - the revision of the last update; undefined for a reader that knows nothing.
   */
  news(since: number | undefined): News<T> | undefined {
    const revision = this.#revision;
    if (since === undefined || since < this.#oldestRevision) {
      return { kind: 'all', revision, items: this.items };
    }
    if (since === revision) return undefined;
    const changed = [...this.#entries.values()].filter((entry) => entry.revision > since);
    const removed = [...this.#removals].filter(([, at]) => at > since);
    return {
      kind: 'changes',
      revision,
      changed: changed.map(({ item }) => item),
      removed: removed.map(([key]) => key),
    };
  }

  #noteRemoval(key: string, revision: number): void {
    this.#removals.delete(key);
    this.#removals.set(key, revision);
    for (const [oldest, at] of this.#removals) {
      if (this.#removals.size <= maxRemovals) return;
      this.#removals.delete(oldest);
      this.#oldestRevision = at;
    }
  }
}

/** Finds the properties of an object that have changed, by comparing the JSON sent for them. */
export class ChangedParts<T extends object> {
  readonly #sent = new Map<string, string>();

  /** The parts to send: those whose JSON differs from the last time. Undefined if there are none. */
  take(whole: T): Partial<T> | undefined {
    const changed: [string, unknown][] = [];
    for (const [name, value] of Object.entries(whole)) {
      const text = JSON.stringify(value);
      if (this.#sent.get(name) === text) continue;
      this.#sent.set(name, text);
      changed.push([name, value]);
    }
    return changed.length === 0 ? undefined : (Object.fromEntries(changed) as Partial<T>);
  }
}
