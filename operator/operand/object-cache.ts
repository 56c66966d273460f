import type { Logger } from '../../service/logger.ts';
import type { KubeClient } from '../kube/client.ts';
import type { ObjectHandler } from '../kube/delivery.ts';
import { Informer, type InformerStanding } from '../kube/informer.ts';
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

  /**
   * How far it follows a namespace; of a cache of all namespaces, undefined stands for them.
   * @throws TypeError if it is none of its namespaces.
   */
  standing(namespace: string | undefined): InformerStanding {
    return this.#informerOf(namespace);
  }

  /** Has a function called when it begins or ends to follow a namespace; it replaces the one before. */
  onStanding(namespace: string | undefined, listener: () => void): void {
    this.#informerOf(namespace).onStanding(listener);
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

  #informerOf(namespace: string | undefined): Informer<T> {
    const informer = this.#informers.get(namespace);
    if (!informer) throw new TypeError(`the namespace ${namespace ?? '*'} is not watched`);
    return informer;
  }

  #all(): Informer<T>[] {
    return [...this.#informers.values()];
  }
}
