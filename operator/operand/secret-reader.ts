import { secrets, type Secret } from '../kube/builtin-resources.ts';
import type { KubeClient } from '../kube/client.ts';
import { systemClock, type Clock } from '../kube/clock.ts';
import { PacedTurns } from '../kube/paced-turns.ts';
import { objectKey, type ObjectRef } from '../kube/resource.ts';

/** How long a Secret stays fresh. */
const foundMs = 15_000;
const missingMs = 3_000;
/** An immutable Secret can only be deleted. */
const immutableMs = 300_000;
/** With many Secrets each is read less often: twenty a second, all together, shared fairly among namespaces. */
const sharedMs = 50;
const burst = 20;
/** How much of a Secret's values is kept, as base64: connection strings and certificates are shorter. */
const maxKeptLength = 32 * 1024;
const maxKeptKeys = 128;
/** A Secret that nobody has asked for in this time is forgotten: its owner is gone. Longer than the longest resync. */
const unusedMs = 900_000;

interface Entry {
  readonly secret: Secret | undefined;
  readonly untilMs: number;
  readonly usedMs: number;
}

/**
 * Reads Secrets one by one and caches them for some seconds. They are neither listed nor watched, so that the
 * operator needs no right to see Secrets that no resource names.
 */
export class SecretReader {
  readonly #client: KubeClient;
  readonly #clock: Clock;
  /** The one asked for last comes last. */
  readonly #entries = new Map<string, Entry>();
  /** For known Secrets that are due to be read again. */
  readonly #turns: PacedTurns;

  constructor(client: KubeClient, clock: Clock = systemClock) {
    this.#client = client;
    this.#clock = clock;
    this.#turns = new PacedTurns(clock, burst);
  }

  /**
   * Undefined if there is none. Keeps 24 KiB of its values, the short ones first: the others are empty.
   * @param mayBeOld - whether any earlier read will do, if the Secret existed then.
   */
  async read(ref: ObjectRef, signal: AbortSignal, mayBeOld = false): Promise<Secret | undefined> {
    const key = objectKey(ref);
    const known = this.#entries.get(key);
    const usedMs = this.#clock.monotonicMs();
    if (known && !this.#isDue(key, known, usedMs, mayBeOld)) {
      this.#put(key, { ...known, usedMs });
      return known.secret;
    }
    const found = await this.#client.find(secrets, ref, { signal });
    const secret = found && keptOf(found);
    this.#turns.end(key);
    this.#put(key, { secret, untilMs: this.#clock.monotonicMs() + forMs(secret), usedMs });
    return secret;
  }

  #isDue(key: string, { secret, untilMs }: Entry, nowMs: number, mayBeOld: boolean): boolean {
    if (nowMs < untilMs || (mayBeOld && secret)) return false;
    return this.#turns.waitMs(key, sharedMs) === 0;
  }

  #put(key: string, entry: Entry): void {
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    for (const [oldest, { usedMs }] of this.#entries) {
      if (entry.usedMs - usedMs < unusedMs) return;
      this.#drop(oldest);
    }
  }

  #drop(key: string): void {
    this.#entries.delete(key);
    this.#turns.end(key);
  }
}

function forMs(secret: Secret | undefined): number {
  if (!secret) return missingMs;
  return secret.immutable === true ? immutableMs : foundMs;
}

/** Drops the rest: a Secret may have a megabyte of values and metadata, and hundreds of them are cached. */
function keptOf({ apiVersion, kind, metadata, immutable, data = {} }: Secret): Secret {
  const { name, namespace, uid, ownerReferences } = metadata;
  let length = 0;
  const values = Object.entries(data)
    .toSorted(([, one], [, other]) => one.length - other.length)
    .slice(0, maxKeptKeys)
    .map(([key, value]) => {
      length += value.length;
      return [key, length <= maxKeptLength ? value : ''] as const;
    });
  return {
    ...{ apiVersion, kind },
    metadata: {
      name,
      ...(namespace !== undefined && { namespace }),
      ...(uid !== undefined && { uid }),
      ...(ownerReferences && { ownerReferences }),
    },
    ...(immutable !== undefined && { immutable }),
    data: Object.fromEntries(values),
  };
}
