import { leases, type Lease } from '../kube/builtin-resources.ts';
import type { KubeClient } from '../kube/client.ts';
import { isAlreadyExists, isConflict } from '../kube/kube-error.ts';
import { objectKey, type Intent } from '../kube/resource.ts';
import { managedLabels } from '../operand/names.ts';
import type { ObjectLookup } from '../operand/object-cache.ts';

/** The last write, while the cache does not have it yet. */
interface Written {
  /** Undefined if it was deleted. */
  readonly lease: Lease | undefined;
  /** Older versions that the cache may show; undefined for none. */
  readonly older: ReadonlySet<string | undefined>;
}

/** The wanted content of a Lease. */
export type LeaseDraft = Pick<Lease, 'spec'> & {
  readonly annotations: Readonly<Record<string, string>>;
};

/**
 * The Leases in which the operator keeps what has to outlive both itself and its custom resources. They are in its own
 * namespace, without owner references. A write succeeds only against the version that was read: of two writers, one fails.
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

  /** The newest version of the Lease that is known here. */
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

  /** Writes the Lease. False if it has changed since {@link get} returned it, which is up to date afterwards. */
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

  /** Deletes the Lease. False if it has changed since {@link get} returned it. */
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
