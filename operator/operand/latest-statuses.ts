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
    const latest = this.#of(object);
    return latest ? { ...object, status: latest.status } : object;
  }

  /** Whether a status of the object was noted: another one was decided by a previous process. */
  has(object: KubeObject): boolean {
    return this.#of(object) !== undefined;
  }

  #of({ metadata }: KubeObject): { readonly status: S } | undefined {
    const latest = this.#statuses.get(objectKey(metadata));
    return latest?.uid === metadata.uid ? latest : undefined;
  }
}
