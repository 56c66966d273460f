import { createHash } from 'node:crypto';
import type { ClusterSync } from '../api/clustersync.ts';
import type { Lease, Pod, StatefulSet } from '../kube/builtin-resources.ts';
import { controllerOf } from '../kube/owner.ts';
import { objectKey } from '../kube/resource.ts';
import type { LeaseBook } from '../leases/lease-book.ts';
import {
  heldBy,
  holderKey,
  holderOf,
  readHolder,
  type LeaseHolder,
} from '../leases/lease-holder.ts';
import { ownerAnnotation } from '../operand/names.ts';
import type { ObjectLookup } from '../operand/object-cache.ts';
import { syncerName } from './resources.ts';

/** Whether a ClusterSync may have to do with its destination. */
export type Claim =
  | { readonly kind: 'held' }
  /** Nothing is claimed: nothing is to be begun, or it is not known what. */
  | { readonly kind: 'none' }
  | { readonly kind: 'unreadable' }
  | { readonly kind: 'taken'; readonly host: string; readonly holder: LeaseHolder };

/** What tells whether a holder is still there. */
export interface ClaimWitnesses {
  /** Whether a ClusterSync is known not to be there any more. */
  readonly isGone: (holder: LeaseHolder) => boolean;
  readonly statefulSets: ObjectLookup<StatefulSet>;
  readonly pods: ObjectLookup<Pod>;
}

const prefix = 'clustersync-destination-';
const hostAnnotation = 'clustersync.dev/destination-host';
/** Others that claim hosts at the same time: all of them are operators, and few. */
const maxAttempts = 5;

/**
 * Lets one ClusterSync at a time have a destination: a Lease for each of its hosts says which. It is given back when the
 * ClusterSync is deleted and nothing of it runs any more.
 */
export class DestinationClaims {
  readonly #book: LeaseBook;
  readonly #witnesses: ClaimWitnesses;

  constructor(book: LeaseBook, witnesses: ClaimWitnesses) {
    this.#book = book;
    this.#witnesses = witnesses;
  }

  /**
   * Claims the hosts of a destination. Those that were claimed before stay so: a sync may have begun there.
   * @param hosts - sorted, so that of two that want some of them one gets the first.
   */
  async claim(owner: ClusterSync, hosts: readonly string[], signal: AbortSignal): Promise<Claim> {
    const claimant = holderOf(owner);
    for (const host of hosts) {
      const taken = await this.#claimHost(claimant, host, signal);
      if (taken) return taken;
    }
    return { kind: 'held' };
  }

  /**
   * Gives back what ClusterSyncs of this name have claimed that are gone.
   * @returns whether something is left: as long as there are pods of them.
   */
  async release(key: string, signal: AbortSignal): Promise<boolean> {
    let isLeft = false;
    for (const lease of this.#claims()) {
      const holder = readHolder(lease);
      if (!holder || holderKey(holder) !== key || !this.#witnesses.isGone(holder)) continue;
      if (this.isAtWork(holder)) isLeft = true;
      else if (!(await this.#book.remove(lease.metadata.name, signal))) isLeft = true;
    }
    return isLeft;
  }

  /** Whether something is left of a ClusterSync that is gone: its pods work on for up to their grace period. */
  isAtWork({ namespace, name, uid }: LeaseHolder): boolean {
    const { statefulSets, pods } = this.#witnesses;
    const set = statefulSets.get(
      objectKey({ namespace, name: syncerName({ metadata: { namespace, name } }) }),
    );
    if (set && controllerOf(set)?.uid === uid) return true;
    const isItsOwn = (pod: Pod): boolean =>
      pod.metadata.namespace === namespace &&
      pod.metadata.annotations?.[ownerAnnotation] === `ClusterSync/${name}` &&
      // A namesake that was made since then has pods, too.
      (!set || controllerOf(pod)?.uid !== set.metadata.uid);
    return pods.list().some(isItsOwn);
  }

  #claims(): Lease[] {
    return this.#book.list().filter(({ metadata }) => metadata.name.startsWith(prefix));
  }

  async #claimHost(
    claimant: LeaseHolder,
    host: string,
    signal: AbortSignal,
  ): Promise<Claim | undefined> {
    const name = `${prefix}${createHash('sha256').update(host).digest('hex').slice(0, 20)}`;
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      const lease = this.#book.get(name);
      const holder = lease && readHolder(lease);
      if (holder?.uid === claimant.uid) return undefined;
      if (holder && (!this.#witnesses.isGone(holder) || this.isAtWork(holder))) {
        return { kind: 'taken', host, holder };
      }
      const { spec, annotations } = heldBy(claimant);
      const draft = { spec, annotations: { ...annotations, [hostAnnotation]: host } };
      if (await this.#book.put(name, draft, signal)) return undefined;
    }
    throw new Error(`the Lease ${name} is changed all the time`);
  }
}
