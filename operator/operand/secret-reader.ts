import { secrets, type Secret } from '../kube/builtin-resources.ts';
import type { KubeClient } from '../kube/client.ts';
import { systemClock, type Clock } from '../kube/clock.ts';
import { objectKey, type ObjectRef } from '../kube/resource.ts';

/** How long what was read counts. */
const foundMs = 15_000;
const missingMs = 3_000;
/** What cannot be changed can only be deleted. */
const immutableMs = 300_000;
/** With many of them each is read less often: twenty a second, all together. */
const sharedMs = 50;
/** What nobody has asked for in this time is forgotten: its owner is gone. Longer than the longest resync. */
const unusedMs = 900_000;

interface Entry {
  readonly secret: Secret | undefined;
  readonly untilMs: number;
  readonly usedMs: number;
}

/**
 * Reads Secrets one by one and remembers them for some seconds. They are neither listed nor watched, so that the
 * operator needs no right to see Secrets that nobody has told it the name of.
 */
export class SecretReader {
  readonly #client: KubeClient;
  readonly #clock: Clock;
  /** The one that was asked for last comes last. */
  readonly #entries = new Map<string, Entry>();

  constructor(client: KubeClient, clock: Clock = systemClock) {
    this.#client = client;
    this.#clock = clock;
  }

  /**
   * Undefined when there is none.
   * @param mayBeOld - whether what was read at any time will do, where it was there.
   */
  async read(ref: ObjectRef, signal: AbortSignal, mayBeOld = false): Promise<Secret | undefined> {
    const key = objectKey(ref);
    const known = this.#entries.get(key);
    const usedMs = this.#clock.monotonicMs();
    if (known && (usedMs < known.untilMs || (mayBeOld && known.secret))) {
      this.#put(key, { ...known, usedMs });
      return known.secret;
    }
    const secret = await this.#client.find(secrets, ref, { signal });
    this.#put(key, { secret, untilMs: this.#clock.monotonicMs() + this.#forMs(secret), usedMs });
    return secret;
  }

  #put(key: string, entry: Entry): void {
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    for (const [oldest, { usedMs }] of this.#entries) {
      if (entry.usedMs - usedMs < unusedMs) return;
      this.#entries.delete(oldest);
    }
  }

  #forMs(secret: Secret | undefined): number {
    if (!secret) return missingMs;
    const ownMs = secret.immutable === true ? immutableMs : foundMs;
    return Math.max(ownMs, this.#entries.size * sharedMs);
  }
}
