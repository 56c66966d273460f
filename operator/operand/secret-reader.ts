import { configMaps, secrets } from '../kube/builtin-resources.ts';
import type { KubeClient } from '../kube/client.ts';
import { systemClock, type Clock } from '../kube/clock.ts';
import { PacedTurns } from '../kube/paced-turns.ts';
import { objectKey, type ObjectRef } from '../kube/resource.ts';
import type { SecretKey } from './credentials.ts';
import { keptValues, type KeptValues } from './kept-value.ts';

/** How long an object stays fresh. */
const foundMs = 15_000;
const missingMs = 3_000;
/** An immutable one can only be deleted. */
const immutableMs = 300_000;
/** With many of them each is read less often: twenty a second, all together, shared fairly among namespaces. */
const sharedMs = 50;
const burst = 20;
/** What nobody has asked for in this time is forgotten: its owner is gone. Longer than the longest resync. */
const unusedMs = 900_000;

/** Which Secret, or ConfigMap. */
export interface ReadRef extends ObjectRef, Pick<SecretKey, 'kind'> {}

/** What both kinds have. */
interface Found {
  readonly values: KeptValues;
  readonly isImmutable: boolean;
}

interface Entry {
  readonly found: Found | undefined;
  readonly untilMs: number;
  readonly usedMs: number;
}

/**
 * Reads Secrets and ConfigMaps one by one and caches them for some seconds. They are neither listed nor watched, so that the
 * operator needs no right to see those that no resource names.
 */
export class SecretReader {
  readonly #client: KubeClient;
  readonly #clock: Clock;
  /** The one asked for last comes last. */
  readonly #entries = new Map<string, Entry>();
  /** For those that are known and due to be read again. */
  readonly #turns: PacedTurns;

  constructor(client: KubeClient, clock: Clock = systemClock) {
    this.#client = client;
    this.#clock = clock;
    this.#turns = new PacedTurns(clock, burst);
  }

  /**
   * Its values, by their keys, as far as they are kept; undefined if there is none.
   * @param mayBeOld - whether any earlier read will do, if it existed then.
   */
  async read(ref: ReadRef, signal: AbortSignal, mayBeOld = false): Promise<KeptValues | undefined> {
    const key = `${ref.kind} ${objectKey(ref)}`;
    const known = this.#entries.get(key);
    const usedMs = this.#clock.monotonicMs();
    if (known && !this.#isDue(key, known, usedMs, mayBeOld)) {
      this.#put(key, { ...known, usedMs });
      return known.found?.values;
    }
    const found = await this.#find(ref, known?.found?.values, signal);
    this.#turns.end(key);
    this.#put(key, { found, untilMs: this.#clock.monotonicMs() + forMs(found), usedMs });
    return found?.values;
  }

  async #find(
    { kind, ...ref }: ReadRef,
    former: KeptValues | undefined,
    signal: AbortSignal,
  ): Promise<Found | undefined> {
    const foundIn = (
      { immutable }: { readonly immutable?: boolean },
      data: Readonly<Record<string, string>> = {},
    ): Found => ({ values: keptValues(data, former), isImmutable: immutable === true });
    if (kind === 'Secret') {
      const secret = await this.#client.find(secrets, ref, { signal });
      return secret && foundIn(secret, secret.data);
    }
    const configMap = await this.#client.find(configMaps, ref, { signal });
    if (!configMap) return undefined;
    const { data = {}, binaryData } = configMap;
    const texts = Object.entries(data).map(([key, text]) => [key, base64Of(text)] as const);
    return foundIn(configMap, { ...Object.fromEntries(texts), ...binaryData });
  }

  #isDue(key: string, { found, untilMs }: Entry, nowMs: number, mayBeOld: boolean): boolean {
    if (nowMs < untilMs || (mayBeOld && found)) return false;
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

function base64Of(text: string): string {
  return Buffer.from(text).toString('base64');
}

function forMs(found: Found | undefined): number {
  if (!found) return missingMs;
  return found.isImmutable ? immutableMs : foundMs;
}
