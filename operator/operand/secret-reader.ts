import { secrets } from '../kube/builtin-resources.ts';
import type { KubeClient } from '../kube/client.ts';
import { systemClock, type Clock } from '../kube/clock.ts';
import { objectKey, type ObjectRef } from '../kube/resource.ts';

/** The data of a Secret: base64 by key. */
export type SecretData = Readonly<Record<string, string>>;

/** How long what was read counts. */
const foundMs = 15_000;
const missingMs = 3_000;
const maxEntries = 1_000;

/**
 * Reads Secrets one by one and remembers them for some seconds. They are neither listed nor watched, so that the
 * operator needs no right to see Secrets that nobody has told it the name of.
 */
export class SecretReader {
  readonly #client: KubeClient;
  readonly #clock: Clock;
  readonly #entries = new Map<
    string,
    { readonly data: SecretData | undefined; readonly untilMs: number }
  >();

  constructor(client: KubeClient, clock: Clock = systemClock) {
    this.#client = client;
    this.#clock = clock;
  }

  /** Undefined when there is none. */
  async read(ref: ObjectRef, signal: AbortSignal): Promise<SecretData | undefined> {
    const key = objectKey(ref);
    const known = this.#entries.get(key);
    if (known && this.#clock.monotonicMs() < known.untilMs) return known.data;
    const found = await this.#client.find(secrets, ref, { signal });
    const data = found && (found.data ?? {});
    this.#remember(key, data);
    return data;
  }

  /** Reads it anew the next time. */
  forget(ref: ObjectRef): void {
    this.#entries.delete(objectKey(ref));
  }

  #remember(key: string, data: SecretData | undefined): void {
    const [oldest] = this.#entries.keys();
    if (this.#entries.size >= maxEntries && oldest !== undefined) this.#entries.delete(oldest);
    this.#entries.delete(key);
    const untilMs = this.#clock.monotonicMs() + (data ? foundMs : missingMs);
    this.#entries.set(key, { data, untilMs });
  }
}
