import { events, type Event, type StatefulSet } from '../kube/builtin-resources.ts';
import type { KubeClient } from '../kube/client.ts';
import type { Clock } from '../kube/clock.ts';
import { eventTimeMs } from '../kube/event-time.ts';
import { KubeError } from '../kube/kube-error.ts';
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
/** Of a StatefulSet: those of the creation and deletion of its pods, repeated ones counted together. */
const maxEvents = 500;

interface KnownEvents {
  readonly uid: string | undefined;
  readonly atMs: number;
  readonly events: readonly Event[];
}

/** Says why StatefulSets have no pods: the API tells this in events only. */
export class PodRefusals {
  readonly #client: KubeClient;
  readonly #clock: Clock;
  /** What was read last, by the key of the StatefulSet; only of those that lack pods. */
  readonly #known = new Map<string, KnownEvents>();

  constructor(client: KubeClient, clock: Clock) {
    this.#client = client;
    this.#clock = clock;
  }

  /**
   * Why pods of a StatefulSet that do not exist have not been created, by their names. Those of which nobody has said so are left out,
   * and so are all at first, as most are created soon, and if the events cannot be read: nothing depends on them but a message.
   */
  async read(
    { metadata }: StatefulSet,
    podNames: readonly string[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, PodRefusal>> {
    const { uid } = metadata;
    const key = objectKey(metadata);
    const atMs = this.#clock.monotonicMs();
    const known = this.#known.get(key);
    if (known === undefined || known.uid !== uid) this.#known.set(key, { uid, atMs, events: [] });
    else if (atMs - known.atMs >= againMs)
      this.#known.set(key, { uid, atMs, events: await this.#eventsOf(metadata, signal) });
    const told = this.#known.get(key)?.events ?? [];
    return new Map(
      podNames.flatMap((name) => {
        const refusal = refusalIn(told, name, this.#clock.wallMs());
        return refusal ? [[name, refusal]] : [];
      }),
    );
  }

  /** Forgets a StatefulSet that has its pods, or is gone. */
  forget(ref: ObjectRef): void {
    this.#known.delete(objectKey(ref));
  }

  async #eventsOf(
    { namespace, uid }: StatefulSet['metadata'],
    signal: AbortSignal,
  ): Promise<readonly Event[]> {
    const fieldSelector = `regarding.uid=${uid}`;
    try {
      const asked = { namespace, fieldSelector, maxItems: maxEvents, signal };
      return (await this.#client.list(events, asked)).items;
    } catch (error) {
      // An aborted request rejects with the signal's reason.
      if (!(error instanceof KubeError)) throw error;
      return [];
    }
  }
}

/** What its controller writes before the reason (Kubernetes 1.34). */
const prefix = /^create Pod (\S+) in StatefulSet \S+ (?:failed error: )?/;

/** Why a StatefulSet has not created a pod, according to its events, in any order. */
export function refusalIn(
  all: readonly Event[],
  podName: string,
  nowMs: number,
): PodRefusal | undefined {
  const own = all
    .filter(({ note }) => prefix.exec(note ?? '')?.[1] === podName)
    .map((event) => ({ event, ...eventTimeMs(event) }))
    .toSorted((one, other) => other.lastMs - one.lastMs);
  const createdAt = own.findIndex(({ event }) => event.reason === 'SuccessfulCreate');
  const since = (createdAt === -1 ? own : own.slice(0, createdAt)).filter(
    ({ event }) => event.reason === 'FailedCreate',
  );
  const [newest] = since;
  if (!newest) return undefined;
  // A refusal that is repeated is counted in one event, whatever was created in between.
  const createdMs = own[createdAt]?.lastMs ?? 0;
  const firstMs = Math.max(createdMs, Math.min(...since.map((one) => one.firstMs)));
  return {
    message: (newest.event.note ?? '').replace(prefix, ''),
    isLasting: nowMs - firstMs >= lastingMs,
  };
}
