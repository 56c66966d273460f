import { events, type Event, type StatefulSet } from '../kube/builtin-resources.ts';
import type { KubeClient } from '../kube/client.ts';
import type { Clock } from '../kube/clock.ts';
import { eventTimeMs } from '../kube/event-time.ts';
import { objectKey, type ObjectRef } from '../kube/resource.ts';

/** Why a StatefulSet has no pod, in the words of what refused it: a quota, for example, or an admission policy. */
export interface PodRefusal {
  readonly message: string;
  /** Whether this has lasted for a minute. */
  readonly isLasting: boolean;
}

/** How often the events of a StatefulSet are read at most. */
const againMs = 10_000;
/** After this time without a pod, somebody has to act. */
const lastingMs = 60_000;
/** A StatefulSet has few events: those of the creation and deletion of its pods, repeated ones counted together. */
const maxEvents = 50;

interface KnownRefusal {
  readonly uid: string | undefined;
  readonly atMs: number;
  readonly refusal: PodRefusal | undefined;
}

/** Says why StatefulSets have no pods: the API tells this in events only. */
export class PodRefusals {
  readonly #client: KubeClient;
  readonly #clock: Clock;
  /** What was read last, by the key of the StatefulSet; only of those that lack pods. */
  readonly #known = new Map<string, KnownRefusal>();

  constructor(client: KubeClient, clock: Clock) {
    this.#client = client;
    this.#clock = clock;
  }

  /**
   * @returns undefined if a pod was created since it was last refused, if nobody has said why there is none, or if the events cannot be
   * read: nothing depends on them but a message.
   */
  async read({ metadata }: StatefulSet, signal: AbortSignal): Promise<PodRefusal | undefined> {
    const { uid, namespace } = metadata;
    const key = objectKey(metadata);
    const atMs = this.#clock.monotonicMs();
    const known = this.#known.get(key);
    if (known?.uid === uid && known && atMs - known.atMs < againMs) return known.refusal;
    const fieldSelector = `regarding.uid=${uid}`;
    let refusal: PodRefusal | undefined;
    try {
      const asked = { namespace, fieldSelector, maxItems: maxEvents, signal };
      const { items } = await this.#client.list(events, asked);
      refusal = refusalIn(items, this.#clock.wallMs());
    } catch {
      signal.throwIfAborted();
    }
    this.#known.set(key, { uid, atMs, refusal });
    return refusal;
  }

  /** Forgets a StatefulSet that has its pods, or is gone. */
  forget(ref: ObjectRef): void {
    this.#known.delete(objectKey(ref));
  }
}

/** What its controller writes before the reason (Kubernetes 1.34). */
const prefix = /^create Pod \S+ in StatefulSet \S+ failed error: /;

/** Why a StatefulSet has no pod, according to its events, in any order. */
export function refusalIn(all: readonly Event[], nowMs: number): PodRefusal | undefined {
  const timed = all
    .map((event) => ({ event, ...eventTimeMs(event) }))
    .toSorted((one, other) => other.lastMs - one.lastMs);
  const createdAt = timed.findIndex(({ event }) => event.reason === 'SuccessfulCreate');
  const since = (createdAt === -1 ? timed : timed.slice(0, createdAt)).filter(
    ({ event }) => event.reason === 'FailedCreate',
  );
  const [newest] = since;
  if (!newest) return undefined;
  const firstMs = Math.min(...since.map((one) => one.firstMs));
  return {
    message: (newest.event.note ?? 'no reason given').replace(prefix, ''),
    isLasting: nowMs - firstMs >= lastingMs,
  };
}
