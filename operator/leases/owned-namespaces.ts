import { messageOf } from '../../service/errors.ts';
import type { Logger } from '../../service/logger.ts';
import type { KubeClient } from '../kube/client.ts';
import { systemClock, type Clock } from '../kube/clock.ts';
import { Deadline } from '../kube/deadline.ts';
import { HeldLease, type Attempt } from '../kube/held-lease.ts';
import { isRefused, isTerminating } from '../kube/kube-error.ts';

/** The Lease in a namespace whose holder is the operator that works there. */
export const ownershipLeaseName = 'operator.clustersync.dev';

/** Requests at the same time: those of many namespaces must not hold up the others. */
const sideBySide = 8;
const maxRetryPeriodMs = 2_000;
const idleMs = 3_600_000;

/** What the ownership of namespaces needs. */
export interface OwnedNamespacesOptions {
  /** Writes only while this process leads. */
  readonly client: KubeClient;
  /** Of this installation: all of its processes have the same. */
  readonly identity: string;
  /** How long another operator waits after it saw the last renewal. */
  readonly leaseDurationMs: number;
  /** Whether a namespace has custom resources. */
  readonly isInUse: (namespace: string) => boolean;
  /** Whether the operator could work in a namespace if it owned it: otherwise another one may. */
  readonly isKnown: (namespace: string) => boolean;
  readonly logger: Logger;
  readonly clock?: Clock;
}

/** What is known of who owns a namespace. */
export type Ownership =
  | { readonly kind: 'unknown' }
  | { readonly kind: 'own' }
  | { readonly kind: 'others'; readonly holder: string }
  /** It is being deleted, so that nobody can get a Lease, and no other owner can still have one. */
  | { readonly kind: 'terminating' }
  | { readonly kind: 'failed'; readonly reason: string; readonly isRefused: boolean };

interface Place {
  readonly namespace: string;
  readonly lease: HeldLease;
  ownership: Ownership;
  /** The other owner that was seen last. */
  other: string;
  /** Whether the listeners know that it is owned. */
  isAnnounced: boolean;
  /** When to try next, by the monotonic clock. */
  dueMs: number;
}

/**
 * The namespaces in which this operator works: of several that watch a namespace, only the one that holds the Lease there. One without
 * custom resources needs none. The Lease is not released when the process ends: the next process of the installation has the same
 * identity, and another operator gets it once nobody has renewed it for its whole duration.
 */
export class OwnedNamespaces {
  readonly #options: OwnedNamespacesOptions;
  readonly #clock: Clock;
  readonly #renewPeriodMs: number;
  readonly #retryPeriodMs: number;
  readonly #places = new Map<string, Place>();
  readonly #listeners = new Set<(namespace: string) => void>();
  #wake: () => void = () => undefined;

  constructor(options: OwnedNamespacesOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#renewPeriodMs = options.leaseDurationMs / 3;
    this.#retryPeriodMs = Math.min(options.leaseDurationMs / 30, maxRetryPeriodMs);
  }

  /** Takes note of a custom resource in a namespace. */
  add(namespace: string): void {
    const known = this.#places.get(namespace);
    // It has been created again.
    if (known?.ownership.kind === 'terminating') this.#places.delete(namespace);
    else if (known) return;
    const { client, identity, leaseDurationMs } = this.#options;
    const lease = new HeldLease({
      ...{ client, namespace, name: ownershipLeaseName, identity, leaseDurationMs },
      renewDeadlineMs: (leaseDurationMs * 2) / 3,
      retryPeriodMs: this.#retryPeriodMs,
      clock: this.#clock,
    });
    const unknown = { ownership: { kind: 'unknown' }, other: '', isAnnounced: false } as const;
    this.#places.set(namespace, { namespace, lease, ...unknown, dueMs: 0 });
    this.#wake();
  }

  /** Tries again immediately where this operator does not work: it may know a namespace by now. */
  tryAgain(): void {
    for (const place of this.#places.values()) if (!this.#holds(place)) place.dueMs = 0;
    this.#wake();
  }

  /** Whether this operator may work in a namespace now. */
  isOwned(namespace: string): boolean {
    const place = this.#places.get(namespace);
    if (place && this.#holds(place)) return true;
    return !this.#options.isInUse(namespace);
  }

  /** What is known of who owns a namespace. */
  ownership(namespace: string): Ownership {
    return this.#places.get(namespace)?.ownership ?? { kind: 'unknown' };
  }

  /** The namespaces with custom resources, and whether this operator works there. */
  owned(): ReadonlyMap<string, boolean> {
    const names = [...this.#places.keys()];
    return new Map(names.map((namespace) => [namespace, this.isOwned(namespace)]));
  }

  /** Why the operator can work nowhere; undefined if it can somewhere, or has nothing to do. */
  whyNotReady(): string | undefined {
    const places = [...this.#places.values()];
    const areRefused = places.every(
      ({ ownership }) => ownership.kind === 'failed' && ownership.isRefused,
    );
    if (places.length === 0 || !areRefused) return undefined;
    return `the Lease ${ownershipLeaseName} cannot be written in any namespace`;
  }

  /** Has a function called with a namespace whenever it changes who owns it, or whether anybody does. */
  onChange(listener: (namespace: string) => void): void {
    this.#listeners.add(listener);
  }

  /** Gets and renews the Leases until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const running = new Map<Place, Promise<void>>();
    let failure: { readonly error: unknown } | undefined;
    const begin = (place: Place): void => {
      const attempt = this.#attempt(place, signal)
        .catch((error: unknown) => {
          failure = { error };
        })
        .finally(() => {
          running.delete(place);
          this.#wake();
        });
      running.set(place, attempt);
    };
    while (!signal.aborted && !failure) {
      const nowMs = this.#clock.monotonicMs();
      const waiting = [...this.#places.values()].filter((place) => !running.has(place));
      const due = waiting.filter(({ dueMs }) => dueMs <= nowMs).sort((a, b) => a.dueMs - b.dueMs);
      for (const place of due.splice(0, sideBySide - running.size)) begin(place);
      // With all at work, only the end of one lets another begin.
      const next = due.length > 0 ? [] : waiting.filter((place) => !running.has(place));
      await this.#rest(Math.min(nowMs + idleMs, ...next.map(({ dueMs }) => dueMs)), signal);
    }
    await Promise.all(running.values());
    if (failure && !signal.aborted) throw failure.error;
  }

  async #attempt(place: Place, signal: AbortSignal): Promise<void> {
    const { namespace, lease } = place;
    const { isInUse, isKnown } = this.#options;
    if (!isInUse(namespace)) {
      if (this.#places.get(namespace) === place) this.#places.delete(namespace);
      this.#announce(place);
      return;
    }
    if (!isKnown(namespace)) {
      place.dueMs = this.#clock.monotonicMs() + this.#retryPeriodMs;
      return;
    }
    // From then on it is acquired like another's, not renewed.
    if (lease.renewableMs <= 0) lease.giveUp();
    const wasOwned = place.isAnnounced && this.#holds(place);
    const before = place.ownership;
    const attempt = await lease.tryToHold(signal);
    place.ownership = this.#ownershipAfter(place, attempt);
    if (place.ownership.kind === 'others') place.other = place.ownership.holder;
    place.dueMs = this.#dueAfter(place, attempt, wasOwned);
    const isSame = textOf(before) === textOf(place.ownership);
    if (!isSame) this.#log(place);
    if (!isSame || wasOwned !== this.#holds(place)) this.#announce(place);
  }

  #holds({ lease, ownership }: Place): boolean {
    if (ownership.kind === 'terminating') return true;
    // Its Lease may have been deleted, and the other one may not have noticed yet.
    return lease.isHeld && this.#clock.monotonicMs() >= lease.othersUntilMs;
  }

  #dueAfter({ lease, ownership }: Place, attempt: Attempt, wasOwned: boolean): number {
    const nowMs = this.#clock.monotonicMs();
    const isPassing =
      attempt.kind === 'failed'
        ? wasOwned || !isRefused(attempt.error)
        : attempt.kind === 'others' && ownership.kind !== 'others';
    const dueMs = nowMs + (isPassing ? this.#retryPeriodMs : this.#renewPeriodMs);
    const isAwaited = lease.isHeld && lease.othersUntilMs > nowMs;
    return isAwaited ? Math.min(dueMs, lease.othersUntilMs) : dueMs;
  }

  #ownershipAfter({ lease, other }: Place, attempt: Attempt): Ownership {
    switch (attempt.kind) {
      case 'held':
        return { kind: 'own' };
      case 'others': {
        // Somebody has changed it without taking it.
        if (lease.isHeld) return { kind: 'own' };
        const { holder = '' } = lease;
        const isOthers = holder !== '' && holder !== this.#options.identity;
        return isOthers ? { kind: 'others', holder } : { kind: 'unknown' };
      }
      case 'failed': {
        const { error } = attempt;
        if (isTerminating(error))
          return this.#clock.monotonicMs() < lease.othersUntilMs
            ? { kind: 'others', holder: other }
            : { kind: 'terminating' };
        if (lease.isHeld) return { kind: 'own' };
        return { kind: 'failed', reason: messageOf(error), isRefused: isRefused(error) };
      }
    }
  }

  #log({ namespace, ownership }: Place): void {
    const logger = this.#options.logger.child({ namespace });
    const lease = ownershipLeaseName;
    switch (ownership.kind) {
      case 'own':
        logger.info({ lease }, 'holds the Lease of the namespace');
        break;
      case 'others':
        logger.warn(
          { lease, owner: ownership.holder },
          'another operator owns the namespace: nothing is done there until that one no longer renews the Lease',
        );
        break;
      case 'failed':
        logger.warn(
          { lease, reason: ownership.reason },
          'the Lease cannot be written: nothing is done in the namespace until it can',
        );
        break;
      case 'terminating':
      case 'unknown':
    }
  }

  #announce(place: Place): void {
    place.isAnnounced = this.#holds(place);
    for (const listener of this.#listeners) listener(place.namespace);
  }

  /** Waits until then, or until something has changed. */
  async #rest(untilMs: number, signal: AbortSignal): Promise<void> {
    const waitMs = Math.max(0, untilMs - this.#clock.monotonicMs());
    using pause = new Deadline(signal, waitMs, this.#clock);
    if (pause.signal.aborted) return;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
      pause.signal.addEventListener('abort', () => {
        resolve();
      });
    });
  }
}

function textOf(ownership: Ownership): string {
  return ownership.kind === 'others' ? `others ${ownership.holder}` : ownership.kind;
}
