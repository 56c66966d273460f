import { messageOf } from '../../service/errors.ts';
import type { Logger } from '../../service/logger.ts';
import { backoffMs } from '../../service/sleep.ts';
import type { KubeClient, Selection } from './client.ts';
import { sleepOn, systemClock, type Clock } from './clock.ts';
import { Delivery, type ObjectHandler } from './delivery.ts';
import { isGone, isRefused, type KubeError } from './kube-error.ts';
import { ObjectStore, type Indexers, type ObjectEvent } from './object-store.ts';
import { orAborted } from '../../service/or-aborted.ts';
import { objectKey, type KubeObject, type Resource } from './resource.ts';
import { watch } from './watch.ts';

/** What an informer needs. */
export interface InformerOptions<T extends KubeObject, I extends string> extends Selection {
  readonly client: KubeClient;
  readonly resource: Resource<T>;
  readonly logger: Logger;
  /** Indexes of the cache, by name. */
  readonly indexes?: Indexers<T, I>;
  /** Duration of one watch; up to a tenth is added at random. 300 s by default. */
  readonly watchSeconds?: number;
  /** A watch that has been silent for this time, even without bookmarks, is restarted. 150 s by default. */
  readonly inactivityMs?: number;
  readonly clock?: Clock;
  readonly random?: () => number;
}

/** How far an informer can follow the API server. */
export interface InformerStanding {
  /** True once the cache has held all objects; stays true while the API server is unreachable. */
  readonly hasSynced: boolean;
  /** For how long it has been unable to follow the API server, in milliseconds; 0 while it can. A silent connection is detected later. */
  readonly behindMs: number;
  /** Why the API server lets it read nothing; undefined once it does, and while it gives another answer or none. */
  readonly refusal: KubeError | undefined;
}

/** A watch that lives this long, or delivers an event, was a success: the back-off is reset. */
const healthyWatchMs = 500;
/** After so many failures in a row the objects are listed again: the resource version may be part of the problem. */
const failuresBeforeRelist = 3;

/**
 * A cache of the objects of a selection that follows the API server: list, then watch. It survives every failure of
 * the connection and of the server, with back-off, until it is stopped; the next list finds changes that were
 * missed. Objects of the cache are shared: do not change them.
 */
export class Informer<T extends KubeObject, I extends string = never> implements InformerStanding {
  readonly #options: InformerOptions<T, I>;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #logger: Logger;
  readonly #store: ObjectStore<T, I>;
  readonly #deliveries = new Set<Delivery<T>>();
  readonly #synced = Promise.withResolvers<undefined>();
  #hasSynced = false;
  /** Since when every attempt has failed. */
  #failingSinceMs: number | undefined;
  #refusal: KubeError | undefined;
  #onStanding: () => void = () => undefined;
  #isRunning = false;
  /** Undefined: the objects must be listed. */
  #resourceVersion: string | undefined;

  constructor(options: InformerOptions<T, I>) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? Math.random;
    this.#logger = options.logger.child({
      informer: options.resource.plural,
      ...(options.namespace === undefined ? {} : { namespace: options.namespace }),
    });
    this.#store = new ObjectStore<T, I>(options.indexes ?? ({} as Indexers<T, I>));
  }

  get hasSynced(): boolean {
    return this.#hasSynced;
  }

  get refusal(): KubeError | undefined {
    return this.#refusal;
  }

  /** Has a function called when {@link hasSynced} or {@link refusal} has changed; it replaces the one before. */
  onStanding(listener: () => void): void {
    this.#onStanding = listener;
  }

  get behindMs(): number {
    const sinceMs = this.#failingSinceMs;
    return sinceMs === undefined ? 0 : this.#clock.monotonicMs() - sinceMs;
  }

  /** Resolves once the cache holds all objects. Rejects with the signal's reason if it is aborted before. */
  async synced(signal: AbortSignal): Promise<void> {
    await orAborted(this.#synced.promise, signal);
  }

  /** The object of a key (`namespace/name`, or `name` for cluster-scoped objects). */
  get(key: string): T | undefined {
    return this.#store.get(key);
  }

  list(): T[] {
    return this.#store.list();
  }

  /** The objects for which the index's function gives the value. */
  byIndex(index: I, value: string): T[] {
    return this.#store.byIndex(index, value);
  }

  /**
   * Adds a handler of events; it gets the existing objects immediately. If a handler throws, it gets the event again, with
   * back-off, and the others are not affected.
   */
  addHandler(handler: ObjectHandler<T>): void {
    const delivery = new Delivery(handler, {
      clock: this.#clock,
      random: this.#random,
      onError: (error, object) => {
        this.#logger.error({ err: error, object }, 'handler failed: the event is delivered again');
      },
    });
    this.#deliveries.add(delivery);
    for (const object of this.#store.list()) delivery.deliver({ kind: 'added', object });
  }

  /**
   * Follows the API server until the signal is aborted; resolves when nothing is left open.
   * @throws Error if it is already running.
   */
  async run(signal: AbortSignal): Promise<void> {
    if (this.#isRunning) throw new Error('the informer is already running');
    this.#isRunning = true;
    try {
      let failures = 0;
      for (;;) {
        const end = await this.#follow(signal);
        if (signal.aborted) return;
        if (end.wasHealthy) failures = 0;
        if (end.error === undefined && end.wasHealthy) continue;
        failures += 1;
        this.#setRefusal(end.error);
        // What has happened meanwhile must be known before the next watch opens: then the cache counts again.
        if (this.#refusal || isGone(end.error) || failures % failuresBeforeRelist === 0) {
          this.#resourceVersion = undefined;
        }
        // An expired resource version is normal: the first list after it need not wait.
        if (isGone(end.error) && failures === 1) continue;
        await this.#pause(end.error, failures, signal);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      this.#isRunning = false;
      for (const delivery of this.#deliveries) delivery[Symbol.dispose]();
    }
  }

  async #pause(error: unknown, failures: number, signal: AbortSignal): Promise<void> {
    const retryInMs = Math.round(
      backoffMs(failures - 1, { baseMs: 800, maxMs: 30_000, random: this.#random }),
    );
    const reason =
      error === undefined ? 'the server ended the watch immediately' : messageOf(error);
    // One failure may be a restart of the API server or a proxy; several deserve attention. Of a refusal, others tell: once.
    const level = this.#refusal ? 'debug' : failures < 3 ? 'info' : 'warn';
    this.#logger[level]({ failures, retryInMs, reason }, 'watch failed');
    await sleepOn(this.#clock, retryInMs, signal);
  }

  /** Lists if necessary, then watches until the watch ends or fails. */
  async #follow(signal: AbortSignal): Promise<{ error?: unknown; wasHealthy: boolean }> {
    let openedMs: number | undefined;
    let events = 0;
    const wasHealthy = (): boolean =>
      events > 0 ||
      (openedMs !== undefined && this.#clock.monotonicMs() - openedMs >= healthyWatchMs);
    try {
      const resourceVersion = this.#resourceVersion ?? (await this.#list(signal));
      const { client, resource, watchSeconds = 300, inactivityMs = 150_000 } = this.#options;
      const timeoutSeconds = Math.round(watchSeconds * (1 + this.#random() / 10));
      const stream = watch(client, resource, {
        ...this.#selection(),
        resourceVersion,
        timeoutSeconds,
        inactivityMs,
        signal,
        onOpen: () => {
          openedMs = this.#clock.monotonicMs();
          this.#failingSinceMs = undefined;
          this.#setRefusal(undefined);
        },
      });
      for await (const event of stream) {
        events += 1;
        if (event.type === 'BOOKMARK') {
          this.#resourceVersion = event.resourceVersion;
          continue;
        }
        this.#apply(event.type, withoutManagedFields(event.object));
        this.#resourceVersion = event.object.metadata.resourceVersion;
      }
      this.#logger.debug({ events }, 'watch ended');
      return { wasHealthy: wasHealthy() };
    } catch (error) {
      this.#failingSinceMs ??= this.#clock.monotonicMs();
      return { error, wasHealthy: wasHealthy() };
    }
  }

  async #list(signal: AbortSignal): Promise<string> {
    const { client, resource } = this.#options;
    const { items, resourceVersion } = await client.list(resource, {
      ...this.#selection(),
      signal,
    });
    const events = this.#store.replace(items.map(withoutManagedFields));
    this.#resourceVersion = resourceVersion;
    this.#logger.debug(
      { objects: this.#store.size, changes: events.length, resourceVersion },
      'listed',
    );
    for (const event of events) this.#dispatch(event);
    const hadSynced = this.#hasSynced;
    this.#hasSynced = true;
    this.#synced.resolve(undefined);
    if (!hadSynced) this.#onStanding();
    return resourceVersion;
  }

  /** A refusal is over only when a watch is open: until then an outage says nothing new. */
  #setRefusal(error: unknown): void {
    const wasRefused = this.#refusal !== undefined;
    if (error === undefined) this.#refusal = undefined;
    else if (isRefused(error)) this.#refusal = error;
    if (wasRefused !== (this.#refusal !== undefined)) this.#onStanding();
  }

  #apply(type: 'ADDED' | 'MODIFIED' | 'DELETED', object: T): void {
    const event =
      type === 'DELETED'
        ? this.#store.remove(objectKey(object.metadata), object)
        : this.#store.put(object);
    if (event) this.#dispatch(event);
  }

  #dispatch(event: ObjectEvent<T>): void {
    for (const delivery of this.#deliveries) delivery.deliver(event);
  }

  #selection(): Selection {
    const { namespace, labelSelector, fieldSelector } = this.#options;
    return { namespace, labelSelector, fieldSelector };
  }
}

/** Managed fields are often larger than the rest of the object, and nothing here reads them. */
function withoutManagedFields<T extends KubeObject>(object: T): T {
  const metadata = { ...object.metadata };
  Reflect.deleteProperty(metadata, 'managedFields');
  return { ...object, metadata };
}
