import { objectKey, type KubeObject } from '../kube/resource.ts';

/**
 * What the statuses of objects are now, where that was not written yet: figures are written seldom, and metrics are to be
 * right all the time.
 */
export class LatestStatuses<S extends object> {
  readonly #statuses = new Map<string, { readonly uid: string | undefined; readonly status: S }>();

  note({ metadata }: KubeObject, status: S): void {
    this.#statuses.set(objectKey(metadata), { uid: metadata.uid, status });
  }

  forget(key: string): void {
    this.#statuses.delete(key);
  }

  /** The object with what its status is now. */
  newest<T extends KubeObject & { readonly status?: S }>(object: T): T {
    const latest = this.#statuses.get(objectKey(object.metadata));
    return latest && latest.uid === object.metadata.uid
      ? { ...object, status: latest.status }
      : object;
  }
}
