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
import type { ObjectLookup } from '../operand/object-cache.ts';
import { hasEnded } from '../operand/pod-state.ts';
import {
  ambiguousHosts,
  hostLease,
  leasePrefix,
  provenKeys,
  wantedKeys,
  type ClaimKey,
  type DestinationWish,
} from './destination-keys.ts';
import { hostAlone } from './destination-hosts.ts';
import { isSyncerPodName, syncerName } from './resources.ts';

/** Whether a ClusterSync may use its destination. */
export type Claim =
  /** `takenFrom`: the previous holder, whose claim was broken, if it was taken over just now. */
  | { readonly kind: 'held'; readonly takenFrom?: LeaseHolder }
  /**
   * No syncer of this one has proven a login yet. `isContested`: another ClusterSync holds a host of this name, in some deployment, and it
   * is not known where the name leads this one. Its pods may find the other's sync there. Undefined if no host is known now.
   */
  | { readonly kind: 'open'; readonly isContested: boolean | undefined }
  /** Not looked at: nothing may be started. */
  | { readonly kind: 'none' }
  /** The connection string names nothing that can be claimed. `isHeld`: earlier claims are still held. */
  | { readonly kind: 'unreadable'; readonly isHeld: boolean }
  | { readonly kind: 'taken'; readonly host: string; readonly holder: LeaseHolder }
  /** An administrator has broken it: see {@link breakAnnotation}. */
  | { readonly kind: 'broken'; readonly lease: string };

/** Shows whether a holder still exists. */
export interface ClaimWitnesses {
  /** Whether a ClusterSync is known to be gone. */
  readonly isGone: (holder: LeaseHolder) => boolean;
  /** Whether what a ClusterSync has in its namespace cannot be seen now: it may have pods. */
  readonly isUnseen: (holder: LeaseHolder) => boolean;
  readonly statefulSets: ObjectLookup<StatefulSet>;
  readonly pods: ObjectLookup<Pod>;
}

/** Where the Leases are. */
type Claims = Pick<LeaseBook, 'get' | 'list' | 'put' | 'remove'>;

const hostAnnotation = 'clustersync.dev/destination-host';
/** On the Leases of one host for one deployment. */
const deploymentAnnotation = 'clustersync.dev/destination-deployment';
/** On the Lease of a host without a deployment that others may write with two labels: previous versions did not distinguish these. */
const fullAnnotation = 'clustersync.dev/destination-is-full';
/** On the Lease of a host: breaks the claim of the holder that it names, and not that of another one that may have it by then. */
export const breakAnnotation = 'clustersync.dev/break-claim-of';
/** Of one ClusterSync, over its lifetime: as many as a connection string may name. Limits what its pods can claim by what they say. */
const maxLeasesEach = 100;
/** For concurrent claims of the same host: the only writers are operators, and they are few. */
const maxAttempts = 5;

/**
 * Gives a destination to one ClusterSync at a time: Leases for each of its hosts say which, see {@link wantedKeys}. Naming a host claims
 * nothing before a syncer has logged in there. The claim is released when the ClusterSync is deleted and nothing of it still runs.
 */
export class DestinationClaims {
  readonly #book: Claims;
  readonly #witnesses: ClaimWitnesses;

  constructor(book: Claims, witnesses: ClaimWitnesses) {
    this.#book = book;
    this.#witnesses = witnesses;
  }

  /**
   * Claims the proven hosts of a destination. Earlier claims are kept, whatever proved them: a sync may have started there.
   * Nothing is claimed if another holder has any of them. Of more than 100 Leases, those of named hosts come first.
   */
  async claim(owner: ClusterSync, wish: DestinationWish, signal: AbortSignal): Promise<Claim> {
    const claimant = holderOf(owner);
    const before = this.standing(owner, wish);
    if (before.kind !== 'held' && before.kind !== 'open') return before;
    const won = new Map<string, LeaseHolder | undefined>();
    for (const key of this.#claimable(claimant, wish)) {
      const former = this.#holderOf(key.lease);
      if (!(await this.#claimKey(claimant, key, signal))) break;
      if (former?.uid !== claimant.uid) won.set(key.lease, former);
    }
    // Two that started with different hosts see each other now.
    const after = this.standing(owner, wish);
    if (after.kind === 'taken') {
      for (const lease of won.keys()) await this.#book.remove(lease, signal);
    }
    if (after.kind !== 'held') return after;
    const replaced = await this.#replaceOld(claimant, wish, signal);
    const takenFrom = [...won.values(), ...replaced].find(
      (former) => former && !this.#witnesses.isGone(former),
    );
    return takenFrom ? { ...after, takenFrom } : after;
  }

  /** The state of a ClusterSync's claim to what it wants, or to anything if it wants nothing. Changes nothing. */
  standing(
    owner: ClusterSync,
    wish: DestinationWish,
  ): Exclude<Claim, { readonly kind: 'none' | 'unreadable' }> {
    const { uid } = holderOf(owner);
    const own = this.#claims().filter((lease) => readHolder(lease)?.uid === uid);
    // Includes hosts that the Secret no longer names: its pods would keep others waiting for them.
    const broken = own.find(isBroken);
    if (broken) return { kind: 'broken', lease: broken.metadata.name };
    const { named, proof } = wish;
    const wanted = [...wantedKeys(wish), ...this.#oldKeys(wish)];
    for (const { lease: name, host } of wanted) {
      const lease = this.#book.get(name);
      const holder = lease && readHolder(lease);
      if (!holder || holder.uid === uid || this.#isFree(lease, holder)) continue;
      return { kind: 'taken', host, holder };
    }
    const isOfNamed = ({ metadata }: Lease): boolean =>
      named.some(({ host }) => host === metadata.annotations?.[hostAnnotation]);
    const isAny = named.length === 0 && proof.hosts.length === 0;
    // Where a name leads is not known before a syncer has said so; until then, where it led before counts.
    const isLedNowhere = proof.deployments.length === 0;
    const isHeld = own.some(
      (lease) =>
        isAny ||
        wanted.some(({ lease: name }) => name === lease.metadata.name) ||
        (isLedNowhere && isOfNamed(lease)),
    );
    return isHeld ? { kind: 'held' } : { kind: 'open', isContested: this.#isContested(uid, wish) };
  }

  /** Whether another one holds a host that a wish names, wherever the name leads; undefined if it names none. */
  #isContested(uid: string, { named }: DestinationWish): boolean | undefined {
    if (named.length === 0) return undefined;
    const hosts = new Set(named.map(({ host }) => hostAlone(host)));
    return this.#claims().some((lease) => {
      const holder = readHolder(lease);
      if (!holder || holder.uid === uid || this.#isFree(lease, holder)) return false;
      return hosts.has(hostAlone(lease.metadata.annotations?.[hostAnnotation] ?? ''));
    });
  }

  /**
   * Releases the claims of ClusterSyncs of this name that are gone.
   * @returns whether something is left, which is so as long as they have pods.
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

  /** Whether something of a deleted ClusterSync still runs: its pods may work until their grace period ends. */
  isAtWork(holder: LeaseHolder): boolean {
    const set = this.#statefulSetOf(holder);
    // A StatefulSet that is being deleted creates no more pods, however long a finalizer keeps it.
    const isToBe = set?.metadata.deletionTimestamp === undefined;
    if (set && isToBe && controllerOf(set)?.uid === holder.uid) return true;
    // A namesake created since then has pods, too.
    const isNamesakes = (pod: Pod): boolean =>
      set !== undefined &&
      controllerOf(set)?.uid !== holder.uid &&
      controllerOf(pod)?.uid === set.metadata.uid;
    return this.#podsOf(holder).some((pod) => !isNamesakes(pod));
  }

  /** The Leases of proven hosts that a claimant does not have yet, up to its limit. */
  #claimable({ uid }: LeaseHolder, wish: DestinationWish): readonly ClaimKey[] {
    const wanted = provenKeys(wish).filter((key) => {
      const lease = this.#book.get(key.lease);
      return !lease || readHolder(lease)?.uid !== uid || isOldOf(key, lease);
    });
    if (wanted.length === 0) return wanted;
    const owned = new Set(
      this.#claims()
        .filter((lease) => readHolder(lease)?.uid === uid)
        .map(({ metadata }) => metadata.name),
    );
    const isNamed = ({ host }: ClaimKey): boolean => wish.named.some((each) => each.host === host);
    const missing = wanted.filter(({ lease }) => !owned.has(lease));
    const ranked = [...missing.filter(isNamed), ...missing.filter((key) => !isNamed(key))];
    const allowed = new Set(ranked.slice(0, Math.max(0, maxLeasesEach - owned.size)));
    return wanted.filter((key) => owned.has(key.lease) || allowed.has(key));
  }

  /**
   * The Leases of previous versions, for a host without a deployment, of names written with two labels. Their deployment is unknown: they count for every
   * deployment until the holder's syncer has reported its own.
   */
  #oldKeys(wish: DestinationWish): readonly ClaimKey[] {
    return ambiguousHosts(wish).flatMap((host) => {
      const key = { lease: hostLease(host), host, isFull: true };
      const lease = this.#book.get(key.lease);
      return lease && isOldOf(key, lease) ? [key] : [];
    });
  }

  /**
   * Releases old Leases that a claimant has replaced: its own, and those of holders that have lost them.
   * @returns the previous holders other than itself.
   */
  async #replaceOld(
    { uid }: LeaseHolder,
    wish: DestinationWish,
    signal: AbortSignal,
  ): Promise<readonly LeaseHolder[]> {
    const replaced: LeaseHolder[] = [];
    const held = new Set(
      provenKeys(wish)
        .filter(({ lease }) => this.#holderOf(lease)?.uid === uid)
        .map(({ host }) => host),
    );
    for (const { lease: name, host } of this.#oldKeys(wish)) {
      const holder = this.#holderOf(name);
      if (!held.has(host) || !(await this.#book.remove(name, signal))) continue;
      if (holder && holder.uid !== uid) replaced.push(holder);
    }
    return replaced;
  }

  #claims(): Lease[] {
    return this.#book.list().filter(({ metadata }) => metadata.name.startsWith(leasePrefix));
  }

  #holderOf(name: string): LeaseHolder | undefined {
    const lease = this.#book.get(name);
    return lease && readHolder(lease);
  }

  /** Whether a holder's Lease may be taken over. */
  #isFree(lease: Lease, holder: LeaseHolder): boolean {
    if (this.#witnesses.isGone(holder)) return !this.isAtWork(holder);
    return isBroken(lease) && !this.#isRunning(holder);
  }

  /** Whether an existing ClusterSync has pods, should have some, or may have some: they may write. */
  #isRunning(holder: LeaseHolder): boolean {
    if (this.#witnesses.isUnseen(holder)) return true;
    const set = this.#statefulSetOf(holder);
    if (set && controllerOf(set)?.uid === holder.uid && set.spec?.replicas !== 0) return true;
    return this.#podsOf(holder).length > 0;
  }

  #statefulSetOf({ namespace, name }: LeaseHolder): StatefulSet | undefined {
    const key = objectKey({ namespace, name: syncerName({ metadata: { name } }) });
    return this.#witnesses.statefulSets.get(key);
  }

  /** The pods that may write. They are identified by name, which nobody can change. */
  #podsOf({ namespace, name }: LeaseHolder): readonly Pod[] {
    const isOwn = isSyncerPodName({ metadata: { name } });
    return this.#witnesses.pods
      .list()
      .filter(
        (pod) => pod.metadata.namespace === namespace && isOwn(pod.metadata.name) && !hasEnded(pod),
      );
  }

  /** @returns false if another one has it. */
  async #claimKey(claimant: LeaseHolder, key: ClaimKey, signal: AbortSignal): Promise<boolean> {
    const { lease: name, host, deployment, isFull } = key;
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      const lease = this.#book.get(name);
      const holder = lease && readHolder(lease);
      const isOwn = holder?.uid === claimant.uid;
      if (lease && isOwn && (!isOldOf(key, lease) || isBroken(lease))) return true;
      if (lease && holder && !isOwn && !this.#isFree(lease, holder)) return false;
      const { spec, annotations } = heldBy(claimant);
      const draft = {
        spec,
        annotations: {
          ...{ ...annotations, [hostAnnotation]: host },
          ...(deployment !== undefined && { [deploymentAnnotation]: deployment }),
          ...(isFull && { [fullAnnotation]: 'true' }),
        },
      };
      if (await this.#book.put(name, draft, signal)) return true;
    }
    throw new Error(`the Lease ${name} is changed all the time`);
  }
}

/** Whether a previous version made the Lease, without recording how its holder writes the host. */
function isOldOf({ isFull }: ClaimKey, { metadata }: Lease): boolean {
  return isFull && metadata.annotations?.[fullAnnotation] === undefined;
}

function isBroken({ metadata, spec }: Lease): boolean {
  const broken = metadata.annotations?.[breakAnnotation];
  return broken !== undefined && broken === spec?.holderIdentity;
}
