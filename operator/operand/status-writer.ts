import { isDeepStrictEqual } from 'node:util';
import type { KubeClient } from '../kube/client.ts';
import { systemClock, type Clock } from '../kube/clock.ts';
import { isNotFound } from '../kube/kube-error.ts';
import { objectKey, type Intent, type KubeObject, type Resource } from '../kube/resource.ts';
import type { LatestStatuses } from './latest-statuses.ts';
import { WritePace } from './write-pace.ts';

/** A custom resource whose status this operator writes. */
export interface WithStatus<S extends object> extends KubeObject {
  readonly status?: S;
}

interface Written<S> {
  readonly uid: string | undefined;
  /** The version in the cache when it was written: as long as the cache has it, what was written is newer. */
  readonly seenVersion: string | undefined;
  readonly status: S;
  readonly atMs: number;
}

/** What became of a status that was to be written. */
export type WriteResult =
  | { readonly kind: 'written' }
  | { readonly kind: 'unchanged' }
  | { readonly kind: 'deferred'; readonly forMs: number }
  | { readonly kind: 'gone' };

/** Writes statuses by server-side apply: only what has changed, and figures not too often. */
export class StatusWriter<S extends object, T extends WithStatus<S>> {
  readonly #client: KubeClient;
  readonly #resource: Resource<T>;
  readonly #isUrgent: (former: S | undefined, next: S) => boolean;
  readonly #latest: LatestStatuses<S> | undefined;
  readonly #clock: Clock;
  readonly #pace: WritePace;
  readonly #written = new Map<string, Written<S>>();

  /** @param latest - is told of every status, written or not. */
  constructor(
    client: KubeClient,
    resource: Resource<T>,
    isUrgent: (former: S | undefined, next: S) => boolean,
    clock: Clock = systemClock,
    latest?: LatestStatuses<S>,
  ) {
    this.#client = client;
    this.#resource = resource;
    this.#isUrgent = isUrgent;
    this.#clock = clock;
    this.#latest = latest;
    this.#pace = new WritePace(clock);
  }

  /** The object with the status that it has now: the cache may not have heard yet of what was written last. */
  current(object: T): T {
    const written = this.#written.get(objectKey(object.metadata));
    const { uid, resourceVersion } = object.metadata;
    const isNewer = written?.uid === uid && written?.seenVersion === resourceVersion;
    return isNewer && written ? { ...object, status: written.status } : object;
  }

  /** @param object - as {@link current} gave it. */
  async write(object: T, status: S, signal: AbortSignal): Promise<WriteResult> {
    this.#latest?.note(object, status);
    if (isDeepStrictEqual(object.status, status)) return { kind: 'unchanged' };
    const { name, namespace, uid, resourceVersion } = object.metadata;
    const key = objectKey(object.metadata);
    if (!this.#isUrgent(object.status, status)) {
      const forMs = this.#pace.waitMs(key, this.#written.get(key)?.atMs);
      if (forMs > 0) return { kind: 'deferred', forMs };
    }
    const metadata = {
      name,
      ...(namespace !== undefined && { namespace }),
      // A namesake that was made meanwhile is another object.
      ...(uid !== undefined && { uid }),
    };
    try {
      const intent: Intent<KubeObject> & { status: S } = { metadata, status };
      await this.#client.applyStatus<KubeObject>(this.#resource, intent, { signal });
    } catch (error) {
      if (isNotFound(error)) return { kind: 'gone' };
      throw error;
    }
    this.#written.set(key, {
      uid,
      seenVersion: resourceVersion,
      status,
      atMs: this.#clock.monotonicMs(),
    });
    return { kind: 'written' };
  }

  forget(key: string): void {
    this.#written.delete(key);
    this.#pace.forget(key);
    this.#latest?.forget(key);
  }
}
