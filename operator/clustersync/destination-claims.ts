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
  /** `takenFrom`: just now, of one whose claim was broken. */
  | { readonly kind: 'held'; readonly takenFrom?: LeaseHolder }
  /** Nobody else has it, and no syncer of this one has proven yet that it may. */
  | { readonly kind: 'open' }
  /** It is not looked at: nothing is to be begun. */
  | { readonly kind: 'none' }
  /** Nothing can be claimed by the connection string. `isHeld`: what was claimed before is. */
  | { readonly kind: 'unreadable'; readonly isHeld: boolean }
  | { readonly kind: 'taken'; readonly host: string; readonly holder: LeaseHolder }
  /** An administrator has broken it: see {@link breakAnnotation}. */
  | { readonly kind: 'broken'; readonly lease: string };

/** What tells whether a holder is still there. */
export interface ClaimWitnesses {
  /** Whether a ClusterSync is known not to be there any more. */
  readonly isGone: (holder: LeaseHolder) => boolean;
  readonly statefulSets: ObjectLookup<StatefulSet>;
  readonly pods: ObjectLookup<Pod>;
}

/** Where the Leases are. */
type Claims = Pick<LeaseBook, 'get' | 'list' | 'put' | 'remove'>;

const prefix = 'clustersync-destination-';
const hostAnnotation = 'clustersync.dev/destination-host';
/** On the Lease of a host, with its holder, breaks that one's claim: another holder's is not meant, who may have it by then. */
export const breakAnnotation = 'clustersync.dev/break-claim-of';
/** Others that claim hosts at the same time: all of them are operators, and few. */
const maxAttempts = 5;

/**
 * Lets one ClusterSync at a time have a destination: a Lease for each of its hosts says which. Who names a host has nothing of it before a
 * syncer has logged in there. It is given back when the ClusterSync is deleted and nothing of it runs any more.
 */
export class DestinationClaims {
  readonly #book: Claims;
  readonly #witnesses: ClaimWitnesses;

  constructor(book: Claims, witnesses: ClaimWitnesses) {
    this.#book = book;
    this.#witnesses = witnesses;
  }

  /**
   * Claims the hosts of a destination that are proven. Those that were claimed before stay so, by whatever proof: a sync may have begun
   * there. Nothing is claimed beside another holder of any of them.
   * @param named - by the connection string; none where it is not known now.
   * @param proven - at which a syncer of the owner has logged in: it may have read another connection string than there is now.
   */
  async claim(
    owner: ClusterSync,
    named: readonly string[],
    proven: ReadonlySet<string>,
    signal: AbortSignal,
  ): Promise<Claim> {
    const claimant = holderOf(owner);
    const hosts = [...new Set([...named, ...proven])].sort();
    const before = this.standing(owner, hosts);
    if (before.kind !== 'held' && before.kind !== 'open') return before;
    const won = new Map<string, LeaseHolder | undefined>();
    for (const host of hosts) {
      const former = this.#holderOfHost(host);
      if (!proven.has(host) || former?.uid === claimant.uid) continue;
      if (!(await this.#claimHost(claimant, host, signal))) break;
      won.set(host, former);
    }
    // Two that have begun with different hosts see each other now.
    const after = this.standing(owner, hosts);
    if (after.kind === 'taken') {
      for (const host of won.keys()) await this.#book.remove(leaseName(host), signal);
    }
    const takenFrom = [...won.values()].find((former) => former && !this.#witnesses.isGone(former));
    return after.kind === 'held' && takenFrom ? { ...after, takenFrom } : after;
  }

  /** What has become of the claim of a ClusterSync to these hosts; to any where there are none. Changes nothing. */
  standing(
    owner: ClusterSync,
    hosts: readonly string[],
  ): Exclude<Claim, { readonly kind: 'none' | 'unreadable' }> {
    const { uid } = holderOf(owner);
    const isOwn = (lease: Lease): boolean => readHolder(lease)?.uid === uid;
    const all = this.#claims().filter(isOwn);
    // Also of a host that the Secret does not name any more: its pods would keep others waiting for that one.
    const broken = all.find(isBroken);
    const claims =
      hosts.length === 0 ? all : hosts.flatMap((host) => this.#book.get(leaseName(host)) ?? []);
    const own = claims.filter(isOwn);
    if (broken) return { kind: 'broken', lease: broken.metadata.name };
    for (const lease of claims) {
      const holder = readHolder(lease);
      if (!holder || holder.uid === uid || this.#isFree(lease, holder)) continue;
      const host = hosts.find((each) => leaseName(each) === lease.metadata.name) ?? '';
      return { kind: 'taken', host, holder };
    }
    return { kind: own.length > 0 ? 'held' : 'open' };
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

  #holderOfHost(host: string): LeaseHolder | undefined {
    const lease = this.#book.get(leaseName(host));
    return lease && readHolder(lease);
  }

  /** Whether another one may have what a holder has. */
  #isFree(lease: Lease, holder: LeaseHolder): boolean {
    if (this.#witnesses.isGone(holder)) return !this.isAtWork(holder);
    return isBroken(lease) && !this.#isRunning(holder);
  }

  /** Whether a ClusterSync that is there has pods, or is to have some: they may write. */
  #isRunning({ namespace, name, uid }: LeaseHolder): boolean {
    const { statefulSets, pods } = this.#witnesses;
    const set = statefulSets.get(
      objectKey({ namespace, name: syncerName({ metadata: { namespace, name } }) }),
    );
    if (set && controllerOf(set)?.uid === uid && set.spec?.replicas !== 0) return true;
    return pods
      .list()
      .some(
        ({ metadata }) =>
          metadata.namespace === namespace &&
          metadata.annotations?.[ownerAnnotation] === `ClusterSync/${name}`,
      );
  }

  /** @returns false where another one has it. */
  async #claimHost(claimant: LeaseHolder, host: string, signal: AbortSignal): Promise<boolean> {
    const name = leaseName(host);
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      const lease = this.#book.get(name);
      const holder = lease && readHolder(lease);
      if (holder?.uid === claimant.uid) return true;
      if (lease && holder && !this.#isFree(lease, holder)) return false;
      const { spec, annotations } = heldBy(claimant);
      const draft = { spec, annotations: { ...annotations, [hostAnnotation]: host } };
      if (await this.#book.put(name, draft, signal)) return true;
    }
    throw new Error(`the Lease ${name} is changed all the time`);
  }
}

function leaseName(host: string): string {
  return `${prefix}${createHash('sha256').update(host).digest('hex').slice(0, 20)}`;
}

function isBroken({ metadata, spec }: Lease): boolean {
  const broken = metadata.annotations?.[breakAnnotation];
  return broken !== undefined && broken === spec?.holderIdentity;
}
