import { objectKey, type KubeObject } from './resource.ts';

/** What happened to an object. */
export type ObjectEvent<T extends KubeObject> =
  | { readonly kind: 'added'; readonly object: T }
  | { readonly kind: 'updated'; readonly object: T; readonly old: T }
  | { readonly kind: 'deleted'; readonly object: T };

/** Functions that return the values under which an index lists an object. */
export type Indexers<T extends KubeObject, I extends string> = Readonly<
  Record<I, (object: T) => readonly string[]>
>;

/** Objects by key, and by the values of indexes. */
export class ObjectStore<T extends KubeObject, I extends string = never> {
  readonly #indexers: Indexers<T, I>;
  readonly #objects = new Map<string, T>();
  readonly #indexes = new Map<I, Map<string, Set<string>>>();

  constructor(indexers: Indexers<T, I>) {
    this.#indexers = indexers;
    for (const name of this.#indexNames()) this.#indexes.set(name, new Map());
  }

  get size(): number {
    return this.#objects.size;
  }

  get(key: string): T | undefined {
    return this.#objects.get(key);
  }

  list(): T[] {
    return [...this.#objects.values()];
  }

  keys(): string[] {
    return [...this.#objects.keys()];
  }

  /** The objects for which the index's function gives the value. */
  byIndex(name: I, value: string): T[] {
    const keys = this.#indexes.get(name)?.get(value) ?? [];
    return [...keys].flatMap((key) => this.#objects.get(key) ?? []);
  }

  /** Stores an object. Returns what happened to it; undefined if that very version was there. */
  put(object: T): ObjectEvent<T> | undefined {
    const key = objectKey(object.metadata);
    const old = this.#objects.get(key);
    if (old && isSameVersion(old, object)) return undefined;
    if (old) this.#unindex(key, old);
    this.#objects.set(key, object);
    this.#index(key, object);
    return old ? { kind: 'updated', object, old } : { kind: 'added', object };
  }

  /** Removes an object; undefined if there was none. `last` is its last state, if known. */
  remove(key: string, last?: T): ObjectEvent<T> | undefined {
    const old = this.#objects.get(key);
    if (!old) return undefined;
    this.#objects.delete(key);
    this.#unindex(key, old);
    return { kind: 'deleted', object: last ?? old };
  }

  /** Replaces the contents by these objects; returns the events that were missed. */
  replace(objects: readonly T[]): ObjectEvent<T>[] {
    const keys = new Set(objects.map(({ metadata }) => objectKey(metadata)));
    const gone = this.keys().filter((key) => !keys.has(key));
    return [
      ...gone.flatMap((key) => this.remove(key) ?? []),
      ...objects.flatMap((object) => this.put(object) ?? []),
    ];
  }

  #indexNames(): I[] {
    return Object.keys(this.#indexers) as I[];
  }

  #index(key: string, object: T): void {
    for (const name of this.#indexNames()) {
      const index = this.#indexes.get(name);
      for (const value of this.#indexers[name](object)) {
        const keys = index?.get(value);
        if (keys) keys.add(key);
        else index?.set(value, new Set([key]));
      }
    }
  }

  #unindex(key: string, object: T): void {
    for (const name of this.#indexNames()) {
      const index = this.#indexes.get(name);
      for (const value of this.#indexers[name](object)) {
        const keys = index?.get(value);
        keys?.delete(key);
        // Keeps an index from growing with values that were once in it.
        if (keys?.size === 0) index?.delete(value);
      }
    }
  }
}

function isSameVersion(one: KubeObject, other: KubeObject): boolean {
  return (
    one.metadata.resourceVersion !== undefined &&
    one.metadata.resourceVersion === other.metadata.resourceVersion &&
    one.metadata.uid === other.metadata.uid
  );
}
