import { createHash } from 'node:crypto';
import type { KubeClient } from '../kube/client.ts';
import { isControlledBy } from '../kube/owner.ts';
import { objectKey, type Intent, type KubeObject, type Resource } from '../kube/resource.ts';

/** An object of the wanted name exists, but belongs to somebody else: it is left alone. */
export class ForeignObjectError extends Error {
  override readonly name = 'ForeignObjectError';
}

/** What was seen and done when an object was last applied. */
interface Applied {
  readonly intentHash: string;
  readonly seenVersion: string | undefined;
  readonly resultVersion: string | undefined;
}

/** Applies owned objects by server-side apply, but only if they differ from what is wanted. */
export class ChildApplier {
  readonly #client: KubeClient;
  readonly #onCorrected: (kind: string) => void;
  /** By name, then by kind: all objects of an operand have its name. */
  readonly #applied = new Map<string, Map<string, Applied>>();

  /** @param onCorrected - receives the kind of an object that somebody else changed or deleted, once it is restored. */
  constructor(client: KubeClient, onCorrected: (kind: string) => void) {
    this.#client = client;
    this.#onCorrected = onCorrected;
  }

  /**
   * Makes the object what it should be.
   * @param live - the cached object; if the cache has none, the API server is queried.
   * @returns the object, if it had to be written.
   * @throws ForeignObjectError if there is one that the owner does not control.
   * @throws KubeError Conflict if the intent names a version that is not the object's.
   */
  async apply<T extends KubeObject>(
    resource: Resource<T>,
    live: T | undefined,
    intent: Intent<T>,
    owner: KubeObject,
    signal: AbortSignal,
  ): Promise<T | undefined> {
    const found = live ?? (await this.#client.find(resource, intent.metadata, { signal }));
    if (found && !isControlledBy(found, owner)) {
      throw new ForeignObjectError(
        `the ${resource.kind} ${intent.metadata.name} already exists and has another owner`,
      );
    }
    if (found && covers(found, intent)) return undefined;
    const key = objectKey(intent.metadata);
    const applied = this.#applied.get(key) ?? new Map<string, Applied>();
    const intentHash = hashOf(intent);
    const seenVersion = found?.metadata.resourceVersion;
    const former = applied.get(resource.plural);
    const isKnown =
      former?.intentHash === intentHash &&
      seenVersion !== undefined &&
      (seenVersion === former.seenVersion || seenVersion === former.resultVersion);
    if (isKnown) return undefined;
    const result = await this.#client.apply(resource, intent, { signal });
    const resultVersion = result.metadata.resourceVersion;
    applied.set(resource.plural, { intentHash, seenVersion, resultVersion });
    this.#applied.set(key, applied);
    if (former?.intentHash === intentHash) this.#onCorrected(resource.kind);
    return result;
  }

  /** Forgets the objects of this name: their owner is gone. */
  forget(key: string): void {
    this.#applied.delete(key);
  }
}

/** Of what is wanted, over whichever version. */
function hashOf<T extends KubeObject>({ metadata, ...intent }: Intent<T>): string {
  const { resourceVersion: _, ...wanted } = metadata;
  return createHash('sha1')
    .update(JSON.stringify([wanted, intent]))
    .digest('base64');
}

/**
 * Whether everything wanted is there. Fields that only the live object has belong to others, or are the API server's
 * defaults. Lists count as equal if their elements cover each other in order.
 */
export function covers(live: unknown, wanted: unknown): boolean {
  if (Array.isArray(wanted)) {
    return (
      Array.isArray(live) &&
      live.length === wanted.length &&
      wanted.every((element, index) => covers(live[index], element))
    );
  }
  if (typeof wanted === 'object' && wanted !== null) {
    return (
      typeof live === 'object' &&
      live !== null &&
      Object.entries(wanted).every(([key, value]) => covers(Reflect.get(live, key), value))
    );
  }
  return live === wanted;
}
