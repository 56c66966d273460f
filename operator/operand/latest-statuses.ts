import { objectKey, type KubeObject } from '../kube/resource.ts';

/**
 * The current statuses of objects, including those not written yet: figures are written seldom, and metrics must
 * always be right.
 */
export class LatestStatuses<S extends object> {
  readonly #statuses = new Map<string, { readonly uid: string | undefined; readonly status: S }>();

  note({ metadata }: KubeObject, status: S): void {
    this.#statuses.set(objectKey(metadata), { uid: metadata.uid, status });
  }

  forget(key: string): void {
    this.#statuses.delete(key);
  }

  /** The object with its current status. */
  newest<T extends KubeObject & { readonly status?: S }>(object: T): T {
    const latest = this.#statuses.get(objectKey(object.metadata));
    return latest && latest.uid === object.metadata.uid
      ? { ...object, status: latest.status }
      : object;
  }
}
