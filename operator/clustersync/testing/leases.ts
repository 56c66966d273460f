import assert from 'node:assert/strict';
import type { Lease } from '../../kube/builtin-resources.ts';
import type { LeaseDraft } from '../../leases/lease-book.ts';
import { readHolder } from '../../leases/lease-holder.ts';

export const hostAnnotation = 'clustersync.dev/destination-host';

/** Leases as the API server keeps them: a write succeeds only against the version that was read. It takes as long as the schedule says. */
export class Leases {
  readonly #leases = new Map<string, Lease>();
  /** Called before a Lease gets another holder. */
  onHandover: (former: Lease) => void = () => undefined;
  readonly #passing: () => Promise<unknown>;

  constructor(passing: () => Promise<unknown>) {
    this.#passing = passing;
  }

  get(name: string): Lease | undefined {
    return this.#leases.get(name);
  }

  list(): Lease[] {
    return [...this.#leases.values()];
  }

  async put(name: string, { spec, annotations }: LeaseDraft): Promise<boolean> {
    return await this.#change(name, (former) => {
      const metadata = { name, namespace: 'operator', annotations: { ...annotations } };
      const next: Lease = {
        ...{ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata },
        ...(spec && { spec }),
      };
      if (former && readHolder(former)?.uid !== readHolder(next)?.uid) this.onHandover(former);
      this.#leases.set(name, next);
    });
  }

  async remove(name: string): Promise<boolean> {
    return await this.#change(name, () => {
      this.#leases.delete(name);
    });
  }

  /** What an administrator does with kubectl. */
  annotate(name: string, annotations: Readonly<Record<string, string>>): void {
    const lease = this.#leases.get(name);
    assert.ok(lease);
    const metadata = { ...lease.metadata };
    metadata.annotations = { ...metadata.annotations, ...annotations };
    this.#leases.set(name, { ...lease, metadata });
  }

  /** Hosts by holder. */
  hostsOf(uid: string): string[] {
    const own = this.list().filter((lease) => readHolder(lease)?.uid === uid);
    return own.flatMap(({ metadata }) => metadata.annotations?.[hostAnnotation] ?? []).sort();
  }

  async #change(name: string, change: (former: Lease | undefined) => void): Promise<boolean> {
    const seen = this.#leases.get(name);
    await this.#passing();
    if (this.#leases.get(name) !== seen) return false;
    change(seen);
    return true;
  }
}
