import { leases, type Lease } from '../kube/builtin-resources.ts';
import type { KubeClient } from '../kube/client.ts';
import { isAlreadyExists, isConflict } from '../kube/kube-error.ts';
import { objectKey, type Intent } from '../kube/resource.ts';
import { managedLabels } from '../operand/names.ts';
import type { ObjectLookup } from '../operand/object-cache.ts';

/** What was written here last, while the cache has not heard of it. */
interface Written {
  /** Undefined when it was deleted. */
  readonly lease: Lease | undefined;
  /** What the cache may show that is older; undefined for nothing. */
  readonly older: ReadonlySet<string | undefined>;
}

/** A Lease as it is to be. */
export type LeaseDraft = Pick<Lease, 'spec'> & {
  readonly annotations: Readonly<Record<string, string>>;
};

/**
 * The Leases in which the operator keeps what has to outlive both itself and its custom resources. They are in its own
 * namespace, and nobody's children. A write is done only on what was seen: of two writers one is told that it has not.
 */
export class LeaseBook {
  readonly #client: KubeClient;
  readonly #namespace: string;
  readonly #cache: ObjectLookup<Lease>;
  readonly #written = new Map<string, Written>();

  /** @param cache - of the Leases with {@link managedLabels} in the namespace. */
  constructor(client: KubeClient, namespace: string, cache: ObjectLookup<Lease>) {
    this.#client = client;
    this.#namespace = namespace;
    this.#cache = cache;
  }

  /** The Lease as it is now, so far as is known here. */
  get(name: string): Lease | undefined {
    const cached = this.#cache.get(this.#key(name));
    const written = this.#written.get(name);
    if (written?.older.has(cached?.metadata.resourceVersion)) return written.lease;
    this.#written.delete(name);
    return cached;
  }

  list(): Lease[] {
    const names = new Set([
      ...this.#cache.list().map(({ metadata }) => metadata.name),
      ...this.#written.keys(),
    ]);
    return [...names].flatMap((name) => this.get(name) ?? []);
  }

  /** Makes the Lease what is given. False when it is not as {@link get} had it: that is right again afterwards. */
  async put(name: string, draft: LeaseDraft, signal: AbortSignal): Promise<boolean> {
    const seen = this.get(name);
    const { annotations, ...rest } = draft;
    return await this.#try(name, signal, async () => {
      if (seen) {
        const metadata = { ...seen.metadata, annotations };
        return await this.#client.replace(leases, { ...seen, ...rest, metadata }, { signal });
      }
      const intent: Intent<Lease> = {
        ...rest,
        metadata: { namespace: this.#namespace, name, labels: managedLabels, annotations },
      };
      return await this.#client.create(leases, intent, { signal });
    });
  }

  /** Deletes the Lease. False when it is not as {@link get} had it. */
  async remove(name: string, signal: AbortSignal): Promise<boolean> {
    const seen = this.get(name);
    if (!seen) return true;
    const { uid, resourceVersion } = seen.metadata;
    return await this.#try(name, signal, async () => {
      const preconditions = {
        ...(uid !== undefined && { uid }),
        ...(resourceVersion !== undefined && { resourceVersion }),
      };
      await this.#client.delete(leases, seen.metadata, { signal, preconditions });
      return undefined;
    });
  }

  async #try(
    name: string,
    signal: AbortSignal,
    write: () => Promise<Lease | undefined>,
  ): Promise<boolean> {
    const seen = this.get(name);
    try {
      this.#remember(name, seen, await write());
      return true;
    } catch (error) {
      if (!isConflict(error) && !isAlreadyExists(error)) throw error;
      const ref = { namespace: this.#namespace, name };
      this.#remember(name, seen, await this.#client.find(leases, ref, { signal }));
      return false;
    }
  }

  #remember(name: string, seen: Lease | undefined, lease: Lease | undefined): void {
    const former = this.#written.get(name)?.older ?? [];
    const cached = this.#cache.get(this.#key(name));
    const older = new Set([
      ...former,
      seen?.metadata.resourceVersion,
      cached?.metadata.resourceVersion,
    ]);
    older.delete(lease?.metadata.resourceVersion);
    this.#written.set(name, { lease, older });
  }

  #key(name: string): string {
    return objectKey({ namespace: this.#namespace, name });
  }
}
