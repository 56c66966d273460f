import { isDeepStrictEqual } from 'node:util';
import type { KubeClient } from '../kube/client.ts';
import { systemClock, type Clock } from '../kube/clock.ts';
import { isNotFound } from '../kube/kube-error.ts';
import { objectKey, type Intent, type KubeObject, type Resource } from '../kube/resource.ts';
import { TokenBucket } from '../kube/token-bucket.ts';
import type { LatestStatuses } from './latest-statuses.ts';
import { WritePace } from './write-pace.ts';

/** A custom resource whose status this operator writes. */
export interface WithStatus<S extends object> extends KubeObject {
  readonly status?: S;
}

interface Written<S> {
  readonly uid: string | undefined;
  /** Versions before it: as long as the cache has one of them, the written status is newer. */
  readonly formerVersions: readonly (string | undefined)[];
  /** The version that the write created. */
  readonly version: string | undefined;
  readonly status: S;
  readonly atMs: number;
}

/**
 * So many are remembered, and the one that the cache has now: in minutes of a silent watch there are more. While it then delivers one that
 * is forgotten, the API server reports a conflict.
 */
const maxFormerVersions = 10;

/** So many urgent changes of an object are written immediately; then one per refill time, in addition to its figures. */
const burst = 20;
const refillMs = 30_000;

/** What became of a status to be written. */
export type WriteResult =
  | { readonly kind: 'written' }
  | { readonly kind: 'unchanged' }
  | { readonly kind: 'deferred'; readonly forMs: number }
  | { readonly kind: 'gone' };

/**
 * Writes statuses by server-side apply: only if they have changed. Limits how often figures are written, and also endless changes,
 * which a hostile pod may cause.
 */
export class StatusWriter<S extends object, T extends WithStatus<S>> {
  readonly #client: KubeClient;
  readonly #resource: Resource<T>;
  readonly #isUrgent: (former: S | undefined, next: S) => boolean;
  readonly #latest: LatestStatuses<S> | undefined;
  readonly #clock: Clock;
  readonly #pace: WritePace;
  readonly #written = new Map<string, Written<S>>();
  readonly #buckets = new Map<string, TokenBucket>();

  /** @param latest - receives every status, written or not. */
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

  /** The object with its current status: the cache may not have received the last write yet. */
  current(object: T): T {
    const written = this.#writtenOver(object);
    return written ? { ...object, status: written.status } : object;
  }

  /**
   * @param object - as {@link current} returned it.
   * @throws KubeError Conflict if somebody has changed the object, or if it is a namesake: its status has to be
   * decided again. (The API server ignores a uid without a resourceVersion in the status of a resource.)
   */
  async write(object: T, status: S, signal: AbortSignal): Promise<WriteResult> {
    this.#latest?.note(object, status);
    const key = objectKey(object.metadata);
    if (isDeepStrictEqual(object.status, status)) {
      this.#pace.pass(key);
      return { kind: 'unchanged' };
    }
    const { name, namespace, uid, resourceVersion: seenVersion } = object.metadata;
    const former = this.#writtenOver(object);
    const resourceVersion = former?.version ?? seenVersion;
    if (!this.#isUrgent(object.status, status) || !this.#mayHurry(key)) {
      const forMs = this.#pace.waitMs(key, this.#written.get(key)?.atMs);
      if (forMs > 0) return { kind: 'deferred', forMs };
    }
    const metadata = {
      name,
      ...(namespace !== undefined && { namespace }),
      ...(resourceVersion !== undefined && { resourceVersion }),
    };
    let version: string | undefined;
    try {
      const intent: Intent<KubeObject> & { status: S } = { metadata, status };
      const result = await this.#client.applyStatus<KubeObject>(this.#resource, intent, { signal });
      version = result.metadata.resourceVersion;
    } catch (error) {
      if (isNotFound(error)) return { kind: 'gone' };
      throw error;
    }
    this.#pace.settle(key);
    this.#written.set(key, {
      ...{ uid, version },
      formerVersions: [
        ...new Set([
          seenVersion,
          ...[...(former?.formerVersions ?? []), resourceVersion].slice(-maxFormerVersions),
        ]),
      ],
      status,
      atMs: this.#clock.monotonicMs(),
    });
    return { kind: 'written' };
  }

  forget(key: string): void {
    this.#written.delete(key);
    this.#buckets.delete(key);
    this.#pace.forget(key);
    this.#latest?.forget(key);
  }

  #mayHurry(key: string): boolean {
    const nowMs = this.#clock.monotonicMs();
    const bucket = this.#buckets.get(key) ?? new TokenBucket({ burst, refillMs, nowMs });
    this.#buckets.set(key, bucket);
    return bucket.take(nowMs);
  }

  /** The last write, while the cache still has a version before it. */
  #writtenOver({ metadata }: T): Written<S> | undefined {
    const written = this.#written.get(objectKey(metadata));
    if (written?.uid !== metadata.uid) return undefined;
    return written?.formerVersions.includes(metadata.resourceVersion) ? written : undefined;
  }
}
