import type { Logger } from '../../service/logger.ts';
import type { KubeClient } from '../kube/client.ts';
import type { ObjectHandler } from '../kube/delivery.ts';
import { Informer } from '../kube/informer.ts';
import type { KubeObject, Resource } from '../kube/resource.ts';

/** Where objects are looked up. */
export interface ObjectLookup<T extends KubeObject> {
  /** By `namespace/name`. The object is shared: do not change it. */
  readonly get: (key: string) => T | undefined;
  readonly list: () => T[];
}

/** What a cache needs. */
export interface ObjectCacheOptions<T extends KubeObject> {
  readonly client: KubeClient;
  readonly resource: Resource<T>;
  /** All namespaces if empty. */
  readonly namespaces: readonly string[];
  readonly labelSelector?: string;
  readonly logger: Logger;
}

/** The objects of a kind in all namespaces of the operator: if these are named, with one watch for each. */
export class ObjectCache<T extends KubeObject> implements ObjectLookup<T> {
  readonly #informers: ReadonlyMap<string | undefined, Informer<T>>;

  constructor({ namespaces, ...options }: ObjectCacheOptions<T>) {
    const places = namespaces.length === 0 ? [undefined] : namespaces;
    this.#informers = new Map(
      places.map((namespace) => [namespace, new Informer<T>({ ...options, namespace })]),
    );
  }

  /** True once every object has been seen. */
  get hasSynced(): boolean {
    return this.#all().every(({ hasSynced }) => hasSynced);
  }

  /** For how long it has been unable to follow the API server, in milliseconds; 0 while it can. */
  get behindMs(): number {
    return Math.max(...this.#all().map(({ behindMs }) => behindMs));
  }

  get(key: string): T | undefined {
    const namespace = key.slice(0, key.indexOf('/'));
    return (this.#informers.get(undefined) ?? this.#informers.get(namespace))?.get(key);
  }

  list(): T[] {
    return this.#all().flatMap((informer) => informer.list());
  }

  addHandler(handler: ObjectHandler<T>): void {
    for (const informer of this.#all()) informer.addHandler(handler);
  }

  /** Resolves once every object has been seen. */
  async synced(signal: AbortSignal): Promise<void> {
    await Promise.all(
      this.#all().map(async (informer) => {
        await informer.synced(signal);
      }),
    );
  }

  /** Follows the API server until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(
      this.#all().map(async (informer) => {
        await informer.run(signal);
      }),
    );
  }

  #all(): Informer<T>[] {
    return [...this.#informers.values()];
  }
}
