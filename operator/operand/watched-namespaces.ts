import type { Logger } from '../../service/logger.ts';
import type { InformerStanding } from '../kube/informer.ts';
import type { KubeError } from '../kube/kube-error.ts';

/** A cache whose informers are followed. */
export interface FollowedCache {
  readonly standing: (namespace: string | undefined) => InformerStanding;
  readonly onStanding: (namespace: string | undefined, listener: () => void) => void;
}

/** What is followed, and how. */
export interface WatchedNamespacesOptions {
  /** Of everything that is in a watched namespace. */
  readonly caches: readonly FollowedCache[];
  /** All if empty. */
  readonly namespaces: readonly string[];
  /** The operator's own Leases, and their namespace. */
  readonly leases: FollowedCache;
  readonly leaseNamespace: string;
  readonly logger: Logger;
}

/** `opening`: not everything has been read once. `refused`: what was read once may no longer be so. */
type PlaceState = 'opening' | 'watched' | 'refused';

interface Place {
  /** Undefined for all namespaces. */
  readonly namespace: string | undefined;
  readonly caches: readonly FollowedCache[];
  state: PlaceState;
}

/** A restarting API server is not a reason to become unready. */
const maxBehindMs = 15_000;

/**
 * Which of the operator's namespaces it can read. Each is followed separately: one that is deleted, or in which the operator has no rights,
 * does not hold up the others. What the caches lack is gone only if the namespace is known.
 */
export class WatchedNamespaces {
  readonly #logger: Logger;
  readonly #places: ReadonlyMap<string | undefined, Place>;
  readonly #own: Place;
  readonly #listeners = new Set<() => void>();
  #isUseless = false;

  constructor({ caches, namespaces, leases, leaseNamespace, logger }: WatchedNamespacesOptions) {
    this.#logger = logger;
    const names = namespaces.length === 0 ? [undefined] : namespaces;
    this.#places = new Map(
      names.map((namespace) => [namespace, { namespace, caches, state: 'opening' }]),
    );
    this.#own = { namespace: leaseNamespace, caches: [leases], state: 'opening' };
    for (const place of [...this.#places.values(), this.#own]) {
      for (const cache of place.caches) {
        cache.onStanding(place.namespace, () => {
          this.#update(place);
        });
      }
    }
  }

  /** Whether the caches have everything of a namespace, up to the delay of a watch. Outages of the API server do not count. */
  isKnown(namespace: string): boolean {
    return this.#placeOf(namespace)?.state === 'watched';
  }

  /** Whether it is a namespace of the operator that is not known: whatever is there may be at work. */
  isUnseen(namespace: string): boolean {
    const place = this.#placeOf(namespace);
    return place !== undefined && place.state !== 'watched';
  }

  /** The namespaces that were named, and whether each is known. */
  named(): ReadonlyMap<string, boolean> {
    const places = [...this.#places.values()];
    return new Map(
      places.flatMap(({ namespace, state }) =>
        namespace === undefined ? [] : [[namespace, state === 'watched'] as const],
      ),
    );
  }

  /** Those that are not known now, for people. */
  unwatched(): string[] {
    return [...this.#places.values()].filter(({ state }) => state !== 'watched').map(nameOf);
  }

  /** Has a function called whenever a namespace becomes known, or unknown. */
  onChange(listener: () => void): void {
    this.#listeners.add(listener);
  }

  /**
   * Why the operator can do nothing, or does not know yet what to do; undefined if it is at work. Namespaces that it may not read are not
   * a reason as long as it can read another one.
   */
  whyNotReady(): string | undefined {
    const refusal = lastingRefusalOf(this.#own);
    if (refusal) return `the Leases of ${nameOf(this.#own)} cannot be watched: ${codeOf(refusal)}`;
    const places = [...this.#places.values()];
    const behind = [this.#own, ...places].filter(isBehind);
    if (behind.length > 0) return `the caches are not up to date: ${behind.map(nameOf).join(', ')}`;
    return this.#uselessness(lastingRefusalOf);
  }

  #placeOf(namespace: string): Place | undefined {
    return this.#places.get(undefined) ?? this.#places.get(namespace);
  }

  /** Why no namespace can be watched; undefined if one can, or may still be. */
  #uselessness(refusal: typeof refusalOf): string | undefined {
    const refusals = [...this.#places.values()].map((place) => {
      const found = refusal(place);
      return found && `${nameOf(place)}: ${codeOf(found)}`;
    });
    if (refusals.includes(undefined)) return undefined;
    return `no namespace can be watched: ${refusals.join(', ')}`;
  }

  #update(place: Place): void {
    const before = place.state;
    place.state = stateOf(place);
    if (place.state === before) return;
    this.#tell(place, before);
    for (const listener of this.#listeners) listener();
  }

  #tell(place: Place, before: PlaceState): void {
    const logger = this.#logger.child({ namespace: place.namespace });
    const what = place === this.#own ? `the Leases of ${nameOf(place)}` : nameOf(place);
    if (place.state === 'refused') {
      const reason = refusalOf(place)?.message;
      const effect = place === this.#own ? 'claims there are not seen' : 'nothing is done there';
      logger.warn({ reason }, `cannot watch ${what}: ${effect} until it can`);
    } else {
      logger.info(before === 'refused' ? `watches ${what} again` : `caches of ${what} filled`);
    }
    const why = this.#uselessness(refusalOf);
    if (why !== undefined && !this.#isUseless) this.#logger.error(`not ready: ${why}`);
    this.#isUseless = why !== undefined;
  }
}

function standingsOf({ caches, namespace }: Place): InformerStanding[] {
  return caches.map((cache) => cache.standing(namespace));
}

function stateOf(place: Place): PlaceState {
  if (refusalOf(place)) return 'refused';
  return standingsOf(place).every(({ hasSynced }) => hasSynced) ? 'watched' : 'opening';
}

function refusalOf(place: Place): KubeError | undefined {
  return standingsOf(place).find(({ refusal }) => refusal)?.refusal;
}

/** One that has not passed after a while, or from the beginning: an API server that starts may refuse for a moment. */
function lastingRefusalOf(place: Place): KubeError | undefined {
  const isPassing = standingsOf(place).every(
    ({ hasSynced, behindMs }) => hasSynced && behindMs < maxBehindMs,
  );
  return isPassing ? undefined : refusalOf(place);
}

function isBehind(place: Place): boolean {
  if (place.state === 'refused') return false;
  return standingsOf(place).some(
    ({ hasSynced, behindMs }) => !hasSynced || behindMs >= maxBehindMs,
  );
}

function nameOf({ namespace }: Place): string {
  return namespace === undefined ? 'all namespaces' : `the namespace ${namespace}`;
}

/** Without the server's text, which names the account: anybody may read a probe. */
function codeOf({ statusCode, reason }: KubeError): string {
  return `${statusCode ?? ''} ${reason}`;
}
